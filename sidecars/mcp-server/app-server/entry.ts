/** `gatehouse app-server`: the app-server v2 protocol over stdio, a WebSocket or a unix socket. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { commandConnector, ExecClient } from '../../exec-server/client/index.ts'
import { AUTHORIZATION_FLAGS, authorizationOf } from '../../rpc/authorization-flags.ts'
import { anybody } from '../../rpc/authorization.ts'
import { LinesTransport } from '../../rpc/lines-transport.ts'
import { AppServer } from './app-server.ts'
import { loginShell } from './login-shell.ts'
import { listen, ListenError, parseListen } from './listen.ts'
import { HomeRules } from './home-rules.ts'
import { startTracing } from '../tracing/start-tracing.ts'
import { sandboxObjectOf, sandboxRootsOf } from './sandbox-policy.ts'

const HELP = `Usage: gatehouse app-server [--listen stdio://|unix://PATH|ws://IP:PORT|off] [--stdio]
  --ws-auth capability-token --ws-token-file FILE | --ws-token-sha256 HEX
  --ws-auth signed-bearer-token --ws-shared-secret-file FILE [--ws-issuer I] [--ws-audience A] [--ws-max-clock-skew-seconds S]
Sessions are kept in $CODEX_HOME, else $GATEHOUSE_HOME, else ~/.gatehouse.
`

/** The app server that this one stands in for asks for as much. */
const LEAST_SECRET_BYTES = 32

async function main(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      listen: { type: 'string' },
      stdio: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      ...AUTHORIZATION_FLAGS,
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const address = parseListen(values.stdio ? 'stdio' : (values.listen ?? 'stdio'))
  const authorize = authorizationOf(values, { leastSecretBytes: LEAST_SECRET_BYTES }) ?? anybody
  const home = process.env.CODEX_HOME ?? process.env.GATEHOUSE_HOME ?? join(homedir(), '.gatehouse')
  const log = (message: string) => void process.stderr.write(`app-server: ${message}\n`)
  const rules = new HomeRules({ home, onProblem: log })
  const exec = lazyExec()
  const tracing = await startTracing(process.env, log)
  const server = new AppServer({
    home,
    exec: exec.client,
    rules,
    sandboxObject: sandboxObjectOf,
    sandboxRoots: sandboxRootsOf,
    shell: loginShell(),
    log,
    ...(tracing && { trace: tracing.trace }),
  })
  const end = async (code: number) => {
    await server.close()
    await exec.close()
    await tracing?.shutdown()
    return code
  }
  server.warmUp()
  if (address.kind === 'stdio') return end(await serveStdio(server))
  if (address.kind === 'off') return end(await untilSignal(server))
  if (address.kind === 'ws' && !isLoopback(address.host) && values['ws-auth'] === undefined)
    throw new ListenError(`--listen: ${address.host} is reachable from other machines; add --ws-auth`)
  const place = address.kind === 'unix' ? { kind: 'unix' as const, path: address.path ?? defaultSocket(home) } : address
  const listener = await listen(place, { authorize, onConnection: (transport) => server.serve(transport) }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error
      throw new ListenError(
        `--listen: another program uses ${values.listen}; choose another port, or 0 for any free one`,
      )
    },
  )
  // Whoever reads the address may end us at once.
  const signalled = untilSignal(server)
  process.stdout.write(`${listener.url}\n`)
  const code = await signalled
  await listener.close()
  return end(code)
}

/** Ends with stdin; a running turn is aborted with it. */
function serveStdio(server: AppServer): Promise<number> {
  return new Promise((resolve) => {
    const transport = new LinesTransport('stdio', process.stdin, process.stdout)
    const connection = server.serve(transport)
    const check = setInterval(() => undefined, 1 << 30)
    const done = () => {
      clearInterval(check)
      resolve(0)
    }
    connection.onClosed(done)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, done)
  })
}

/** The first signal waits for running turns, the second ends at once. */
function untilSignal(server: AppServer): Promise<number> {
  return new Promise((resolve) => {
    let signals = 0
    const onSignal = () => {
      if (++signals > 1) return resolve(0)
      void server.idle().then(() => resolve(0))
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}

/** Our exec server as a child, started with the first command. */
function lazyExec(): { client: () => ExecClient; close: () => Promise<void> } {
  let client: ExecClient | null = null
  return {
    client: () =>
      (client ??= new ExecClient({
        clientName: 'gatehouse-app-server',
        connect: commandConnector({
          program: process.execPath,
          args: [join(dirname(__filename), 'exec-server.cjs'), '--listen', 'stdio'],
        }),
      })),
    close: async () => client?.close(),
  }
}

const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1'

function defaultSocket(home: string): string {
  const folder = join(home, 'app-server-control')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return join(folder, 'app-server-control.sock')
}

process.on('unhandledRejection', (error) => {
  process.stderr.write(
    `app-server: unexpected: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
})
main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`app-server: ${(error as Error).message}\n`)
    process.exit(1)
  },
)
