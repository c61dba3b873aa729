import { randomBytes } from 'node:crypto'
import { WebSocket } from 'ws'
import type { Carrier } from '../wire/carrier.ts'
import { HybridKeys } from './noise-keys.ts'
import { NoiseStreams } from './noise-streams.ts'
import { Registry, type Registration, type RegistryOptions } from './registry.ts'
import { MalformedFrame, parseRelayFrame } from './relay-frame.ts'

const MAX_FRAME_BYTES = 262_144
const PING_INTERVAL_MS = 30_000
const PONG_TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 10_000
const FIRST_BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 30_000

export interface RemoteExecutorOptions extends RegistryOptions {
  onStream(carrier: Carrier, streamId: string): void
  log(line: string): void
  /** The pauses between two attempts, multiplied; 1 unless a test is in a hurry. */
  backoffFactor?: number
}

/**
 * An exec server that connects outwards: registered under an environment's id, it waits at a rendezvous for those
 * whom the registry lets in. Whatever goes through there is sealed. The socket is made again whenever it is lost;
 * sessions outlive it, streams do not.
 */
export class RemoteExecutor {
  private readonly keys = HybridKeys.generate()
  private readonly registry: Registry
  private readonly stop = new AbortController()
  private socket: WebSocket | undefined
  private running: Promise<void> = Promise.resolve()

  private constructor(private readonly options: RemoteExecutorOptions) {
    this.registry = new Registry(options)
  }

  /** Registers, and is there from then on. Rejects with RegistryError when it cannot register. */
  static async start(options: RemoteExecutorOptions): Promise<RemoteExecutor> {
    const executor = new RemoteExecutor(options)
    const registration = await executor.registry.register(executor.keys.public)
    executor.running = executor.run(registration)
    return executor
  }

  /** Resolves when the rendezvous is left. */
  async close(): Promise<void> {
    this.stop.abort()
    this.socket?.terminate()
    await this.running
  }

  private async run(registration: Registration): Promise<void> {
    let current = registration
    for (let attempt = 0; !this.stop.signal.aborted; attempt++) {
      const startedAtMs = performance.now()
      const end = await this.serveOnce(current)
      if (this.stop.signal.aborted) return
      this.options.log(`the rendezvous is lost (${end.why}); trying again`)
      // One that held for a while starts the count anew.
      if (performance.now() - startedAtMs > MAX_BACKOFF_MS) attempt = 0
      if (end.isUnauthorized) current = await this.registerAgain(current)
      await this.pause(Math.min(FIRST_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS))
    }
  }

  private async registerAgain(old: Registration): Promise<Registration> {
    try {
      return await this.registry.register(this.keys.public)
    } catch (error) {
      this.options.log((error as Error).message)
      return old
    }
  }

  /** One socket from its connection to its end. */
  private serveOnce({ url, registrationId }: Registration): Promise<{ why: string; isUnauthorized: boolean }> {
    return new Promise((resolve) => {
      let socket: WebSocket
      try {
        socket = new WebSocket(url, {
          perMessageDeflate: false,
          followRedirects: false,
          maxPayload: MAX_FRAME_BYTES,
          handshakeTimeout: CONNECT_TIMEOUT_MS,
          headers: { 'x-request-id': `req_${randomBytes(16).toString('hex')}` },
        })
      } catch (error) {
        return resolve({ why: (error as Error).message, isUnauthorized: false })
      }
      this.socket = socket
      let why: string | undefined
      let isUnauthorized = false
      const { environmentId, onStream } = this.options
      const streams = new NoiseStreams({
        registry: this.registry,
        keys: this.keys,
        environmentId,
        registrationId,
        onStream,
        send: (frame, onSent) => socket.send(frame, { binary: true }, () => onSent()),
      })
      const stopPinging = pingUntilSilent(socket)
      socket.on('message', (data: Buffer, isBinary: boolean) => this.receive(streams, data, isBinary))
      socket.on('error', (error) => (why ??= error.message))
      socket.on('unexpected-response', (_request, response) => {
        why = `status ${response.statusCode}`
        isUnauthorized = response.statusCode === 401
        socket.terminate()
      })
      socket.once('close', () => {
        stopPinging()
        why ??= 'it was closed'
        streams.close(`the rendezvous is lost: ${why}`)
        resolve({ why, isUnauthorized })
      })
      if (this.stop.signal.aborted) socket.terminate()
    })
  }

  /** What nobody can read is dropped: it may not even be for us. */
  private receive(streams: NoiseStreams, data: Buffer, isBinary: boolean): void {
    if (!isBinary) return this.options.log('a text message of the rendezvous was dropped')
    try {
      streams.receive(parseRelayFrame(data))
    } catch (error) {
      if (!(error instanceof MalformedFrame)) throw error
      this.options.log(`a frame of the rendezvous was dropped: ${error.message}`)
    }
  }

  private pause(ms: number): Promise<void> {
    const jittered = ms * (1 + Math.random() / 2) * (this.options.backoffFactor ?? 1)
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.stop.signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, jittered)
      this.stop.signal.addEventListener('abort', done, { once: true })
    })
  }
}

/** Drops a socket whose other side no longer answers. Returns what ends it. */
function pingUntilSilent(socket: WebSocket): () => void {
  let silence: NodeJS.Timeout | undefined
  const pings = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return
    socket.ping()
    silence ??= setTimeout(() => socket.terminate(), PONG_TIMEOUT_MS)
  }, PING_INTERVAL_MS)
  socket.on('pong', () => {
    clearTimeout(silence)
    silence = undefined
  })
  return () => {
    clearInterval(pings)
    clearTimeout(silence)
  }
}
