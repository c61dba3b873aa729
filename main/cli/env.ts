import { CommandError, readArguments, UsageError, type Command } from './command.ts'
import { withHost } from './connect.ts'
import { currentFolder } from './current-folder.ts'
import { printJson, printLine } from './print.ts'

const FORMATS = ['sh', 'fish', 'json'] as const
type Format = (typeof FORMATS)[number]

export const env: Command = {
  name: 'env',
  summary: 'Print the variables that lead a shell through the proxy.',
  help: `Usage: eval "$(gatehouse env)"

  --format FORMAT   sh (default), fish (gatehouse env --format fish | source) or json

What the shell starts afterwards connects through Gatehouse's proxy, as a session of its own named after
this terminal. A proxy that was started anew needs new variables.`,
  run: async (argv) => {
    const { values } = readArguments(argv, { format: { type: 'string' } })
    const format = readFormat(values.format)
    const cwd = currentFolder()
    const { environment } = await withHost(({ client }) => client.shellEnvironment(cwd, process.ppid))
    if (Object.keys(environment).length === 0)
      throw new CommandError('the network proxy is not running; gatehouse status tells why')
    if (format === 'json') printJson(environment)
    else for (const [name, value] of Object.entries(environment)) printLine(assignment(format, name, value))
    return 0
  },
}

function readFormat(given: string | undefined): Format {
  const format = FORMATS.find((known) => known === (given ?? 'sh'))
  if (!format) throw new UsageError(`--format: expected ${FORMATS.join(', ')}, got ${JSON.stringify(given)}`)
  return format
}

/** One variable in the syntax of the shell, its value quoted so that the shell takes it as it is. */
export function assignment(format: 'sh' | 'fish', name: string, value: string): string {
  return format === 'sh'
    ? `export ${name}='${value.replaceAll("'", `'\\''`)}'`
    : `set -gx ${name} '${value.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`
}
