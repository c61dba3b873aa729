import { constants } from 'node:os'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { RunExited } from '../control/control-protocol.ts'
import { CommandError, UsageError, type Command } from './command.ts'
import { connectOrStart } from './connect.ts'
import { currentFolder } from './current-folder.ts'
import { RemoteRun } from './remote-run.ts'
import { forwardInput } from './run-input.ts'
import { forwardSignals } from './run-signals.ts'
import { visible, warn } from './print.ts'
import { tellWhatWaits } from './waiting-hint.ts'

/** As in POSIX shells: found but not allowed to run, not found; 125 is ours, as in docker and env(1). */
const EXIT_DENIED = 126
const EXIT_NOT_FOUND = 127
const EXIT_HOST_FAILED = 125
/** By the kind of the exec server's spawn failure. */
const SPAWN_EXITS: Record<string, number> = { spawnNotFound: EXIT_NOT_FOUND, spawnPermissionDenied: EXIT_DENIED }
const EXIT_INTERRUPTED = 128 + constants.signals.SIGINT

export const run: Command = {
  name: 'run',
  passesOnArguments: true,
  summary: 'Run a command through rules, exec server and proxy.',
  help: `Usage: gatehouse run [--no-tty] [--] COMMAND [ARGUMENT...]

  --no-tty   pipes even when both ends are terminals

The command is a session of its own in Gatehouse. It gets this terminal's folder and environment, its
input and its signals; output comes back byte for byte. A terminal is told when something waits for your
answer. When no host runs, a headless one is started and ends when nobody needs it any more.

Exit code: that of the command, 128+N when signal N ended it, ${EXIT_DENIED} denied or not executable,
${EXIT_NOT_FOUND} not found, ${EXIT_HOST_FAILED} when Gatehouse itself failed.`,
  run: async (argv) => {
    const { command, wantsTty } = readRunArguments(argv)
    const cwd = currentFolder(EXIT_HOST_FAILED)
    const { client } = await connectOrStart().catch((error: Error) => {
      throw new CommandError(error.message, EXIT_HOST_FAILED)
    })
    const remote = new RemoteRun(client)
    const isTty = wantsTty && process.stdin.isTTY && process.stdout.isTTY
    const disposers: (() => void)[] = []
    try {
      const isInterrupted = forwardSignals(remote, disposers)
      const sessionId = await remote
        .start({
          argv: command,
          cwd,
          env: ownEnvironment(),
          // A terminal that does not know its size (script, some CI) says 0.
          tty: isTty ? { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 } : null,
        })
        .catch((error: unknown) => {
          if (isInterrupted()) throw new CommandError('interrupted before it was started', EXIT_INTERRUPTED)
          throw startFailure(error)
        })
      forwardInput(remote, isTty, disposers)
      if (sessionId !== undefined && process.stderr.isTTY)
        tellWhatWaits(client, sessionId, warn).catch(() => {
          // The link broke; what becomes of the run is told below.
        })
      const end = await remote.closed
      if (end.detail !== undefined) process.stderr.write(`gatehouse: ${visible(end.detail)}\n`)
      return exitCodeOf(end)
    } finally {
      for (const dispose of disposers) dispose()
      client.close()
    }
  },
}

/** Options stand before the command; everything from it on belongs to the command. */
export function readRunArguments(argv: string[]): { command: string[]; wantsTty: boolean } {
  let wantsTty = true
  let at = 0
  for (; argv[at]?.startsWith('-'); at++) {
    if (argv[at] === '--') {
      at++
      break
    }
    if (argv[at] !== '--no-tty')
      throw new UsageError(`unknown option ${String(argv[at])}; options of the command come after --`)
    wantsTty = false
  }
  const command = argv.slice(at)
  if (command.length === 0) throw new UsageError('COMMAND is missing')
  if (command[0] === '') throw new UsageError('COMMAND is empty')
  return { command, wantsTty }
}

/** 128+N for a signal, as shells say it; without any word how it ended, 125. */
export function exitCodeOf({ exitCode, exitSignal }: Pick<RunExited, 'exitCode' | 'exitSignal'>): number {
  const number = exitSignal === null ? undefined : constants.signals[exitSignal as NodeJS.Signals]
  if (number !== undefined) return 128 + number
  return exitCode ?? EXIT_HOST_FAILED
}

function startFailure(error: unknown): CommandError {
  const message = visible((error as Error).message)
  if (!(error instanceof RpcError)) return new CommandError(message, EXIT_HOST_FAILED)
  if (error.code === 'denied') return new CommandError(`denied: ${message}`, EXIT_DENIED)
  const { kind, part, path } = (error.data ?? {}) as { kind?: unknown; part?: unknown; path?: unknown }
  if (part !== 'program' || typeof path !== 'string') return new CommandError(message, EXIT_HOST_FAILED)
  return new CommandError(`${visible(path)}: ${message}`, SPAWN_EXITS[String(kind)] ?? EXIT_HOST_FAILED)
}

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
