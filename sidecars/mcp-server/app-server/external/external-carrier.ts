/** The way to an app server that is not ours: a WebSocket, or a command that speaks lines on its stdio. */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { WebSocket } from 'ws'
import type { ExternalAppServer } from '../../../protocol/host-channel.ts'
import { LinesTransport } from '../../../rpc/lines-transport.ts'
import type { Transport } from '../../../rpc/transport.ts'
import { WebSocketTransport } from '../../../rpc/websocket-transport.ts'

const CONNECT_MS = 10_000
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024
/** An ended command's last words that are told. */
const STDERR_KEPT = 2_000

/** Opens it. Rejects with one sentence for the owner that names the field to look at. */
export function connectExternal(server: ExternalAppServer): Promise<Transport> {
  return server.url === undefined
    ? startCommand(server.command ?? [], server.environment)
    : openSocket(server.url, server.tokenFile)
}

async function openSocket(url: string, tokenFile: string | undefined): Promise<Transport> {
  const token = tokenFile === undefined ? undefined : await readToken(tokenFile)
  const socket = new WebSocket(url, {
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
  })
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(new WebSocketTransport(`app server at ${url}`, socket)))
    socket.once('unexpected-response', (_request, response) => {
      const why =
        response.statusCode === 401
          ? 'it wants another token (tokenFile)'
          : `it answered with HTTP ${response.statusCode}`
      reject(new Error(`${url} does not let us in: ${why}`))
      socket.terminate()
    })
    socket.once('error', (error) => reject(new Error(`url: ${url} cannot be reached: ${error.message}`)))
  })
}

async function readToken(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new Error(`tokenFile: ${path} cannot be read: ${error.message}`)
  })
  const token = text.trim()
  if (token === '' || /\s/.test(token)) throw new Error(`tokenFile: ${path} does not hold one token`)
  return token
}

function startCommand(
  [program, ...words]: readonly string[],
  environment: Record<string, string> = {},
): Promise<Transport> {
  return new Promise((resolve, reject) => {
    if (program === undefined) return reject(new Error('command: it is empty'))
    const child = spawn(program, words, {
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let lastWords = ''
    child.stderr.on('data', (chunk: Buffer) => (lastWords = (lastWords + chunk.toString()).slice(-STDERR_KEPT)))
    child.once('error', (error) => reject(new Error(`command: ${program} cannot be started: ${error.message}`)))
    child.once('spawn', () =>
      resolve(
        new ChildTransport(`app server ${program}`, child.stdout, child.stdin, () => {
          // It ends with its input; one that does not is ended.
          const timer = setTimeout(() => child.kill('SIGKILL'), 3_000)
          child.once('exit', () => clearTimeout(timer))
          return lastWords.trim().split('\n').at(-1) ?? ''
        }),
      ),
    )
  })
}

/** Lines, with the command's last words as the reason of its end. */
class ChildTransport extends LinesTransport {
  constructor(
    label: string,
    input: ConstructorParameters<typeof LinesTransport>[1],
    output: ConstructorParameters<typeof LinesTransport>[2],
    private readonly atEnd: () => string,
  ) {
    super(label, input, output, { maxLineBytes: MAX_MESSAGE_BYTES })
  }

  override start(handlers: Parameters<LinesTransport['start']>[0]): void {
    super.start({
      ...handlers,
      onClose: (reason) => {
        const said = this.atEnd()
        handlers.onClose(said === '' ? reason : { ...reason, message: `${reason.message} (${said})` })
      },
    })
  }
}
