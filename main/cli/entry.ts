/** The command line: `gatehouse COMMAND …`. The sidecars' own commands are started by bin/gatehouse. */
import { constants } from 'node:os'
import { GATEHOUSE_VERSION } from '../../sidecars/protocol/version.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { DataFolderError } from '../control/data-folder.ts'
import { HostFileError } from '../control/host-file.ts'
import { HostRunningError } from '../control/host-lock.ts'
import { approvals } from './approvals.ts'
import { check } from './check.ts'
import { CommandError, UsageError, type Command } from './command.ts'
import { approve, deny } from './decide.ts'
import { env } from './env.ts'
import { logs } from './logs.ts'
import { mcp } from './mcp.ts'
import { printLine, warn } from './print.ts'
import { processes } from './processes.ts'
import { run } from './run.ts'
import { serve } from './serve.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'

const COMMANDS: readonly Command[] = [
  serve,
  stop,
  status,
  approvals,
  approve,
  deny,
  processes,
  logs,
  run,
  check,
  env,
  mcp,
]

/** Run by bin/gatehouse without this bundle; listed here for the help. */
const SIDECAR_COMMANDS: readonly [string, string][] = [
  ['app-server', 'Agent sessions alone, for clients of the app-server protocol.'],
  ['exec-server', 'The exec server alone, e.g. --listen ws://127.0.0.1:0'],
  ['mcp-server', 'The MCP server alone, e.g. --listen stdio'],
  ['proxy', 'The network proxy alone, e.g. --http 127.0.0.1:0 --allow example.com'],
  ['responses-proxy', 'Lends a model key from stdin to local clients that do not see it.'],
  ['stdio-to-uds', 'Connects stdin and stdout to a unix socket, e.g. /run/some.sock'],
]

const EXIT_USAGE = 2

function overview(): string {
  const rows: [string, string][] = [
    ...COMMANDS.map(({ name, summary }): [string, string] => [name, summary]),
    ...SIDECAR_COMMANDS,
  ]
  return [
    'Usage: gatehouse COMMAND [ARGUMENT...]',
    '',
    ...rows.map(([name, summary]) => `  ${name.padEnd(16)} ${summary}`),
    '',
    'gatehouse COMMAND --help tells more. GATEHOUSE_HOME names another data folder than ~/.gatehouse.',
  ].join('\n')
}

async function main(argv: string[]): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    printLine(overview())
    return name === undefined ? EXIT_USAGE : 0
  }
  if (name === '--version' || name === '-V') {
    printLine(GATEHOUSE_VERSION)
    return 0
  }
  const command = COMMANDS.find((known) => known.name === name)
  if (!command) {
    warn(`there is no command ${JSON.stringify(name)}; gatehouse --help lists them`)
    return EXIT_USAGE
  }
  if (asksForHelp(command, rest)) {
    printLine(`${command.summary}\n\n${command.help}`)
    return 0
  }
  try {
    return await command.run(rest)
  } catch (error) {
    return explain(command, error)
  }
}

/** Only before the arguments that belong to somebody else: `gatehouse run ls --help` is for ls. */
function asksForHelp(command: Command, argv: string[]): boolean {
  const end = argv.findIndex(
    (argument) => argument === '--' || (command.passesOnArguments === true && !argument.startsWith('-')),
  )
  const own = end === -1 ? argv : argv.slice(0, end)
  return own.includes('--help') || own.includes('-h')
}

function explain(command: Command, error: unknown): number {
  if (error instanceof UsageError) {
    warn(`${command.name}: ${error.message}; gatehouse ${command.name} --help tells more`)
    return EXIT_USAGE
  }
  if (error instanceof CommandError) {
    warn(error.message)
    return error.exitCode
  }
  // Failures with a sentence for people; anything else is a bug and shows where.
  const isExpected = [RpcError, DataFolderError, HostFileError, HostRunningError].some((kind) => error instanceof kind)
  const isSystems = typeof (error as NodeJS.ErrnoException).code === 'string'
  warn(isExpected || isSystems ? (error as Error).message : String((error as Error).stack ?? error))
  return 1
}

/** Whoever read our output left: end quietly, as a command does that SIGPIPE ends. */
function endWithReader(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') warn(`writing failed: ${error.message}`)
    process.exit(error.code === 'EPIPE' ? 128 + constants.signals.SIGPIPE : 1)
  })
}

const argv = process.argv.slice(2)
for (const stream of [process.stdout, process.stderr])
  // A host has more to do than to talk.
  if (argv[0] === serve.name) stream.on('error', () => {})
  else endWithReader(stream)
void main(argv).then((exitCode) => {
  // process.exit alone cuts off output that waits in a pipe.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)))
})
