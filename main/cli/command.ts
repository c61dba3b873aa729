import { parseArgs, type ParseArgsConfig } from 'node:util'

/** One subcommand of `gatehouse`. */
export interface Command {
  name: string
  /** For the list of commands. */
  summary: string
  /** Everything `--help` prints after the summary: usage line, options, examples. */
  help: string
  /** From its first argument that is no option on, the arguments belong to another command. */
  passesOnArguments?: true
  /** Resolves with the exit code. `argv` starts after the command's name. */
  run(argv: string[]): Promise<number>
}

/** The command line was wrong; the message names the argument. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** It cannot be done, for a reason that the owner can act on; printed without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message)
  }
}

type Options = NonNullable<ParseArgsConfig['options']>
/** Only the two kinds of options that a command line here has. */
type Values<O extends Options> = { [N in keyof O]?: O[N] extends { type: 'boolean' } ? boolean : string }

/**
 * Reads options and exactly `positionals.length` further arguments, each named for the error message.
 * @throws UsageError naming an unknown option, a missing value or a missing or surplus argument
 */
export function readArguments<const O extends Options>(
  argv: string[],
  options: O,
  positionals: string[] = [],
): { values: Values<O>; positionals: string[] } {
  const parsed = (() => {
    try {
      return parseArgs({ args: argv, options, allowPositionals: true, strict: true })
    } catch (error) {
      // Only the first sentence: the rest is advice on how to pass such a thing as a positional.
      throw new UsageError((error as Error).message.split('. ')[0])
    }
  })()
  const missing = positionals[parsed.positionals.length]
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
  const surplus = parsed.positionals[positionals.length]
  if (surplus !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(surplus)}`)
  return { values: parsed.values as Values<O>, positionals: parsed.positionals }
}
