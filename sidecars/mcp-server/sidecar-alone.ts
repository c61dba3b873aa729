import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Console } from 'node:console'
import { parseArgs } from 'node:util'
import { listenForAttach } from './attach/attach-listener.ts'
import { serveLines } from './attach/serve-lines.ts'
import { listenHttp } from './http/http-listener.ts'
import { NoExecPort } from './processes/exec-port.ts'
import { NO_HOST, NoHostLink } from './sessions/host-link.ts'
import { SessionRegistry } from './sessions/session-registry.ts'
import { createAgentServer } from './tools/agent-server.ts'

const USAGE = `usage: gatehouse mcp-server [--listen stdio|http://127.0.0.1:PORT|unix:///PATH] [--token-file FILE]

Serves Gatehouse's MCP tools without a host. Nobody can decide about commands then, so none is run;
for agents use "gatehouse mcp", which finds or starts a host.

  --listen      where to serve; default stdio. Port 0 picks a free one; the URL is the first line on stdout.
  --token-file  file with the token that clients of http and unix must present; without it one is made
                and written to stderr.`

/** A mistake on the command line; `message` says what was expected. */
class UsageError extends Error {}

type Listen = { kind: 'stdio' } | { kind: 'http'; port: number } | { kind: 'unix'; path: string }

/** `gatehouse mcp-server …`: serves until its input ends or a signal comes. Resolves with the exit code. */
export async function runAlone(argv: string[]): Promise<number> {
  try {
    const { values } = parseArgs({
      args: argv,
      options: { listen: { type: 'string' }, 'token-file': { type: 'string' }, help: { type: 'boolean' } },
    })
    if (values.help) {
      console.log(USAGE)
      return 0
    }
    return await serve(readListen(values.listen ?? 'stdio'), values['token-file'])
  } catch (error) {
    const isUsage =
      error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true
    console.error(`gatehouse mcp-server: ${error instanceof Error ? error.message : String(error)}`)
    if (isUsage) console.error(USAGE)
    return isUsage ? 2 : 1
  }
}

async function serve(listen: Listen, tokenFile: string | undefined): Promise<number> {
  const { stdout } = process
  const log = (message: string) => process.stderr.write(`gatehouse mcp-server: ${message}\n`)
  // stdout belongs to the protocol, or to the URL; libraries write to the console.
  globalThis.console = new Console(process.stderr, process.stderr)
  const registry = new SessionRegistry(new NoHostLink(), new NoExecPort(NO_HOST))
  const stopped = stopSignal()
  try {
    if (listen.kind === 'stdio') {
      const served = serveLines(process.stdin, stdout, registry, { via: 'mcp-stdio', cwd: process.cwd() }, log)
      await Promise.race([served.ended, stopped])
      return 0
    }
    const agentToken = readToken(tokenFile)
    const listener =
      listen.kind === 'http'
        ? await listenHttp(listen.port, { agentToken, registry, createServer: createAgentServer, log })
        : await listenForAttach({ socketPath: listen.path, agentToken, registry, log })
    stdout.write(`${'url' in listener ? listener.url : `unix://${listener.path}`}\n`)
    if (tokenFile === undefined) process.stderr.write(`token: ${agentToken}\n`)
    await stopped
    await listener.close()
    return 0
  } finally {
    await registry.dispose('the server is stopping')
  }
}

function readListen(text: string): Listen {
  if (text === 'stdio' || text === 'stdio://') return { kind: 'stdio' }
  const http = /^http:\/\/127\.0\.0\.1:(\d{1,5})\/?$/.exec(text)
  if (http && Number(http[1]) <= 65535) return { kind: 'http', port: Number(http[1]) }
  if (text.startsWith('unix:///')) return { kind: 'unix', path: text.slice('unix://'.length) }
  throw new UsageError(`--listen ${JSON.stringify(text)}: expected stdio, http://127.0.0.1:PORT or unix:///PATH`)
}

function readToken(file: string | undefined): string {
  if (file === undefined) return randomBytes(32).toString('base64url')
  const token = readFileSync(file, 'utf8').trim()
  if (token === '') throw new UsageError(`--token-file ${file}: the file is empty`)
  return token
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}
