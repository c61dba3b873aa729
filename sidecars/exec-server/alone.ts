import { readdirSync } from 'node:fs'
import { Socket } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { readEnvironmentInfo } from './environment/environment-info.ts'
import { ExecServer, PROCESS_CAPABILITIES } from './exec-server.ts'
import { openInstanceFolder, sharedParent } from './life/instance-folder.ts'
import { CommandLineError, parseCommandLine, USAGE, type RemoteAddress } from './listen/command-line.ts'
import { ListenUrlError } from './listen/listen-url.ts'
import { listenWebSocket } from './listen/websocket-listener.ts'
import { policyContextOf, registerMethodFamilies } from './method-families.ts'
import { InheritableEnvironment } from './processes/child-environment.ts'
import { platformSandbox } from './sandbox/platform-sandbox.ts'
import type { Carrier } from './wire/carrier.ts'
import { LineCarrier } from './wire/line-carrier.ts'

/**
 * Output kept per process. Clients of a server that runs alone read what is new; those who page through
 * it are waited for. 32 MiB are written over and over without the disk ever noticing.
 */
const SPOOL_BYTES = 32 * 1024 * 1024

/**
 * `gatehouse exec-server …`: serves until stdin ends (stdio) or a signal comes, then exits 0. The only
 * line on stdout is the address, or the protocol itself.
 */
export async function runAlone(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(USAGE)
    return 0
  }
  try {
    return await serve(argv)
  } catch (error) {
    const isUsage = error instanceof CommandLineError || error instanceof ListenUrlError
    process.stderr.write(`Error: ${isUsage ? error.message : systemMessage(error as NodeJS.ErrnoException)}\n`)
    return error instanceof CommandLineError ? error.exitCode : 1
  }
}

async function serve(argv: readonly string[]): Promise<number> {
  const { address, authorize } = parseCommandLine(argv)
  const log = (line: string) => void process.stderr.write(`exec-server: ${line}\n`)
  // Read by now; what commands inherit must not hold it.
  if (address.kind === 'remote') delete process.env.CODEX_API_KEY
  if (address.kind === 'remote' && address.forwardTo !== undefined) return forward(address, address.forwardTo, log)
  const folder = await openInstanceFolder(sharedParent())
  for (const { pid } of folder.swept) log(`ended process ${pid}, left behind by a server that was killed`)
  const deniedPaths = [...hostFolders(), sharedParent()]
  const environmentInfo = () => readEnvironmentInfo(PROCESS_CAPABILITIES)
  const server = new ExecServer({
    sandbox: platformSandbox({
      folder: folder.path,
      policyContext: policyContextOf(deniedPaths),
      searchPath: () => process.env.PATH,
      isNetworkManaged: false,
    }),
    folder,
    spoolBytes: SPOOL_BYTES,
    inheritable: new InheritableEnvironment(process.env),
    environmentInfo,
    registerMore: (methods) => registerMethodFamilies(methods, { deniedPaths, environmentInfo }),
    log,
    // Nobody can come back to a server that lives as long as its one connection.
    ...(address.kind === 'stdio' ? { detachedTtlMs: 0 } : {}),
  })
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => {
    onStopSignal(resolve)
    stop = resolve
    if (address.kind !== 'stdio') return
    const carrier = new LineCarrier('stdio', process.stdin, openStdout())
    const connection = server.serve(carrier, { kind: 'agent', via: 'exec-stdio', address: 'stdio' })
    connection.own({ dispose: () => resolve() })
  })
  try {
    if (address.kind === 'websocket') {
      const { url } = await listenWebSocket({
        ...address,
        authorize,
        onConnection: (carrier, peer) => server.serve(carrier, { kind: 'agent', via: 'exec-ws', address: peer }),
      })
      process.stdout.write(`${url}\n`)
    }
    const onStream = (carrier: Carrier, streamId: string) =>
      server.serve(carrier, { kind: 'agent', via: 'exec-remote', address: streamId })
    const remote = address.kind === 'remote' ? await register(address, onStream, log) : undefined
    if (address.kind === 'remote' && address.endsWithStdin) onStdinEnd(stop)
    await stopped
    await remote?.close()
  } finally {
    await server.close('the server was stopped', 0)
  }
  return 0
}

function onStopSignal(act: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, act)
}

/** Runs nothing here: the streams belong to an exec server that listens elsewhere. */
async function forward(address: RemoteAddress, to: string, log: (line: string) => void): Promise<number> {
  const { forwardStream } = await import('./remote/forward-stream.ts')
  const executor = await register(address, (carrier) => forwardStream(carrier, to, log), log)
  await new Promise<void>((resolve) => {
    onStopSignal(resolve)
    if (address.endsWithStdin) onStdinEnd(resolve)
  })
  await executor.close()
  return 0
}

async function register(
  address: RemoteAddress,
  onStream: (carrier: Carrier, streamId: string) => void,
  log: (line: string) => void,
) {
  const { RemoteExecutor } = await import('./remote/remote-executor.ts')
  const { baseUrl, environmentId } = address
  const token = address.token ?? (await firstLineOfStdin())
  const executor = await RemoteExecutor.start({
    baseUrl,
    environmentId,
    token,
    log,
    onStream,
  })
  log(`registered for the environment ${environmentId}`)
  return executor
}

const MAX_TOKEN_BYTES = 64 * 1024

async function firstLineOfStdin(): Promise<string> {
  let said = ''
  for await (const chunk of process.stdin.iterator({ destroyOnReturn: false })) {
    said += String(chunk)
    if (said.includes('\n') || said.length > MAX_TOKEN_BYTES) break
  }
  const token = (said.split('\n')[0] as string).trim()
  if (token === '') throw new CommandLineError('--registration-bearer-stdin: the first line of stdin is empty', 1)
  return token
}

function onStdinEnd(act: () => void): void {
  process.stdin.once('end', act)
  process.stdin.once('close', act)
  process.stdin.resume()
}

/**
 * Folders of a host on this machine: its tokens and sockets are nothing for a sandboxed command. The
 * sockets lie below the temporary folder when the path of the data folder is too long for them.
 */
function hostFolders(): string[] {
  const { GATEHOUSE_HOME } = process.env
  const dataFolder = GATEHOUSE_HOME ? resolve(GATEHOUSE_HOME) : join(homedir(), '.gatehouse')
  const shortName = new RegExp(`^gatehouse-${process.getuid?.() ?? 0}-[0-9a-f]{16}$`)
  const runFolders = readdirSync(tmpdir()).filter((name) => shortName.test(name))
  return [dataFolder, ...runFolders.map((name) => join(tmpdir(), name))]
}

/** A pipe is written without blocking; `process.stdout` would block everybody when nobody reads it. */
function openStdout(): Writable {
  try {
    return new Socket({ fd: 1, readable: false, writable: true })
  } catch {
    return process.stdout
  }
}

function systemMessage(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'Address in use (os error 98)'
    case 'EACCES':
      return `Permission denied (os error 13): ${error.message}`
    default:
      return error.message
  }
}
