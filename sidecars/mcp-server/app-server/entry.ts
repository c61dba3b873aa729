/** `gatehouse app-server`: the app-server v2 protocol over stdio, a WebSocket or a unix socket. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { commandConnector, ExecClient } from '../../exec-server/client/index.ts'
import { LinesTransport } from '../../rpc/lines-transport.ts'
import { AppServer } from './app-server.ts'
import { loginShell } from './login-shell.ts'
import { listen, ListenError, parseListen, type Authorize } from './listen.ts'
import { HomeRules } from './home-rules.ts'
import { startTracing } from '../tracing/start-tracing.ts'
import { sandboxObjectOf, sandboxRootsOf } from './sandbox-policy.ts'

const HELP = `Usage: gatehouse app-server [--listen stdio://|unix://PATH|ws://IP:PORT|off] [--stdio]
  --ws-auth capability-token --ws-token-file FILE | --ws-token-sha256 HEX
  --ws-auth signed-bearer-token --ws-shared-secret-file FILE [--ws-issuer I] [--ws-audience A] [--ws-max-clock-skew-seconds S]
Sessions are kept in $CODEX_HOME, else $GATEHOUSE_HOME, else ~/.gatehouse.
`

async function main(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      listen: { type: 'string' },
      stdio: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      'ws-auth': { type: 'string' },
      'ws-token-file': { type: 'string' },
      'ws-token-sha256': { type: 'string' },
      'ws-shared-secret-file': { type: 'string' },
      'ws-issuer': { type: 'string' },
      'ws-audience': { type: 'string' },
      'ws-max-clock-skew-seconds': { type: 'string' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const address = parseListen(values.stdio ? 'stdio' : (values.listen ?? 'stdio'))
  const authorize = authorization(values)
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
  const listener = await listen(place, { authorize, onConnection: (transport) => server.serve(transport) })
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

function authorization(values: Record<string, string | boolean | undefined>): Authorize {
  const text = (name: string): string | undefined =>
    typeof values[name] === 'string' ? (values[name] as string) : undefined
  const mode = text('ws-auth')
  if (mode === undefined) {
    for (const name of Object.keys(values))
      if (name.startsWith('ws-') && values[name] !== undefined) throw new ListenError(`--${name} needs --ws-auth`)
    return () => undefined
  }
  if (mode === 'capability-token') {
    const file = text('ws-token-file')
    const hex = text('ws-token-sha256')
    if (file === undefined && !/^[0-9a-f]{64}$/i.test(hex ?? ''))
      throw new ListenError('--ws-auth capability-token needs --ws-token-file, or --ws-token-sha256 with 64 hex digits')
    return capabilityToken(file === undefined ? Buffer.from(hex!, 'hex') : sha256(readFileSync(file, 'utf8').trim()))
  }
  if (mode === 'signed-bearer-token') {
    const file = text('ws-shared-secret-file')
    if (file === undefined) throw new ListenError('--ws-auth signed-bearer-token needs --ws-shared-secret-file')
    const secret = readFileSync(file, 'utf8').trim()
    if (Buffer.byteLength(secret) < 32)
      throw new ListenError('--ws-shared-secret-file: the secret has fewer than 32 bytes')
    return signedToken(secret, {
      issuer: text('ws-issuer'),
      audience: text('ws-audience'),
      skewSeconds: Number(text('ws-max-clock-skew-seconds') ?? 30),
    })
  }
  throw new ListenError(`--ws-auth: "${mode}" is none of capability-token, signed-bearer-token`)
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
const bearer = (header: string | undefined): string | undefined => /^bearer +(\S+) *$/i.exec(header ?? '')?.[1]

function capabilityToken(wanted: Buffer): Authorize {
  return (header) => {
    const token = bearer(header)
    if (token === undefined) return 'missing websocket bearer token'
    return timingSafeEqual(sha256(token), wanted) ? undefined : 'invalid websocket bearer token'
  }
}

function signedToken(secret: string, expected: { issuer?: string; audience?: string; skewSeconds: number }): Authorize {
  return (header) => {
    const parts = bearer(header)?.split('.')
    if (parts?.length !== 3) return 'invalid websocket jwt'
    const signature = createHmac('sha256', secret).update(`${parts[0]}.${parts[1]}`).digest()
    const given = Buffer.from(parts[2]!, 'base64url')
    if (given.length !== signature.length || !timingSafeEqual(given, signature)) return 'invalid websocket jwt'
    try {
      const head = JSON.parse(Buffer.from(parts[0]!, 'base64url').toString('utf8')) as { alg?: unknown }
      const claims = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString('utf8')) as {
        exp?: unknown
        nbf?: unknown
        iss?: unknown
        aud?: unknown
      }
      const now = Date.now() / 1000
      if (head.alg !== 'HS256' || typeof claims.exp !== 'number') return 'invalid websocket jwt'
      if (claims.exp + expected.skewSeconds < now) return 'expired websocket jwt'
      if (typeof claims.nbf === 'number' && claims.nbf - expected.skewSeconds > now)
        return 'websocket jwt is not valid yet'
      if (expected.issuer !== undefined && claims.iss !== expected.issuer) return 'websocket jwt issuer mismatch'
      if (expected.audience !== undefined && ![claims.aud].flat().includes(expected.audience))
        return 'websocket jwt audience mismatch'
      return undefined
    } catch {
      return 'invalid websocket jwt'
    }
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
