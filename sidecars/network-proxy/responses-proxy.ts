/** `gatehouse responses-proxy`: lends a model key to local clients without showing it to them. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ApiKey, readStdin, type ReadBytes } from './responses/api-key.ts'
import { ExchangeDumps } from './responses/exchange-dump.ts'
import { ResponsesServer } from './responses/responses-server.ts'

const DEFAULT_UPSTREAM = 'https://api.openai.com/v1/responses'
const USAGE = `usage: printenv KEY | gatehouse responses-proxy [--port PORT] [--server-info FILE] [--http-shutdown]
                                              [--upstream-url URL] [--dump-dir FOLDER]

Forwards POST /v1/responses on 127.0.0.1 with the key from stdin; everything else is refused.
  --port PORT          default: any free port
  --server-info FILE   write {"port":N,"pid":N} there once it listens
  --http-shutdown      GET /shutdown ends it
  --upstream-url URL   default ${DEFAULT_UPSTREAM}
  --dump-dir FOLDER    write every request and response there, without credentials
`

/** Runs until it is told to stop; resolves with the exit code. `read` gives the key. */
export async function responsesProxy(argv: string[], read: ReadBytes = readStdin): Promise<number> {
  let options: Options
  let key: ApiKey
  try {
    options = readOptions(argv)
    if (options.help) {
      process.stdout.write(USAGE)
      return 0
    }
    key = ApiKey.read(read)
  } catch (error) {
    say((error as Error).message)
    return 2
  }
  try {
    return await run(options, key)
  } catch (error) {
    say((error as Error).message)
    return 1
  } finally {
    key.wipe()
  }
}

interface Options {
  port: number
  serverInfo: string | undefined
  httpShutdown: boolean
  upstream: URL
  dumpDir: string | undefined
  help: boolean
}

function readOptions(argv: string[]): Options {
  const { values } = parseArgs({
    args: argv,
    options: {
      port: { type: 'string', default: '0' },
      'server-info': { type: 'string' },
      'http-shutdown': { type: 'boolean', default: false },
      'upstream-url': { type: 'string', default: DEFAULT_UPSTREAM },
      'dump-dir': { type: 'string' },
      help: { type: 'boolean', default: false, short: 'h' },
    },
  })
  return {
    port: readPort(values.port ?? ''),
    serverInfo: values['server-info'],
    httpShutdown: values['http-shutdown'] ?? false,
    upstream: readUpstream(values['upstream-url'] ?? ''),
    dumpDir: values['dump-dir'],
    help: values.help ?? false,
  }
}

function readPort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65535) throw new Error(`--port: expected 0..65535, got ${JSON.stringify(text)}`)
  return port
}

function readUpstream(text: string): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new Error(`--upstream-url: expected an absolute URL, got ${JSON.stringify(text)}`)
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new Error(`--upstream-url: expected http or https, got ${url.protocol}//`)
  return url
}

async function run(options: Options, key: ApiKey): Promise<number> {
  const dumps = options.dumpDir === undefined ? undefined : new ExchangeDumps(options.dumpDir, say)
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => (stop = resolve))
  const { port, upstream } = options
  const onShutdown = options.httpShutdown ? stop : undefined
  const server = await ResponsesServer.open({ port, upstream, key, dumps, onShutdown, onProblem: say })
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  if (options.serverInfo !== undefined) writeServerInfo(options.serverInfo, server.port)
  say(`listening on http://127.0.0.1:${server.port}`)
  await stopped
  process.off('SIGINT', stop)
  process.off('SIGTERM', stop)
  await server.close()
  return 0
}

/** A reader never sees half a file. */
function writeServerInfo(path: string, port: number): void {
  const target = resolve(path)
  mkdirSync(dirname(target), { recursive: true })
  const temporary = `${target}.${process.pid}.tmp`
  writeFileSync(temporary, `${JSON.stringify({ port, pid: process.pid })}\n`, { mode: 0o600 })
  renameSync(temporary, target)
}

function say(line: string): void {
  process.stderr.write(`gatehouse responses-proxy: ${line}\n`)
}
