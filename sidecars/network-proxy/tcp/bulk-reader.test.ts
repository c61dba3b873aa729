import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import fc from '../../testing/fast-check.ts'
import { ClientConnection, type ClientSink } from '../client-connection.ts'
import { TcpUpstream } from '../dial/tcp-upstream.ts'
import { Listener } from '../listener.ts'
import { rawOrigin } from '../test-kit/origins.ts'
import { eventually } from '../test-kit/owner.ts'
import { forwardBytes, resumeWhenTaken, type ByteSource } from './bulk-reader.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'

/** More than the kernel keeps for a reader that does not read. */
const LARGE_BYTES = 16 * 1024 * 1024

/** Bytes in which every word looks different. */
function pattern(sizeBytes: number, factor = 0x9e3779b1): Buffer {
  const words = new Int32Array(sizeBytes / 4)
  for (let at = 0; at < words.length; at++) words[at] = Math.imul(at + 1, factor)
  return Buffer.from(words.buffer)
}

/** Collects what a socket reads. */
class Reader {
  private readonly pieces: Buffer[] = []
  bytes = 0
  ended = false

  constructor(readonly socket: Socket) {
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      this.pieces.push(bytes)
      this.bytes += bytes.length
    })
    socket.on('end', () => (this.ended = true))
    socket.pause()
  }

  get received(): Buffer {
    return Buffer.concat(this.pieces)
  }
}

/** A client that has read nothing yet, and the proxy's end of its connection. */
async function client(): Promise<{ reader: Reader; connection: ClientConnection }> {
  let accept: (connection: ClientConnection) => void
  const accepted = new Promise<ClientConnection>((resolve) => (accept = resolve))
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 }, (connection) => accept(connection))
  onTestFinished(() => listener.close())
  const reader = new Reader(connect({ port: listener.port, host: '127.0.0.1', allowHalfOpen: true }))
  const connection = await accepted
  onTestFinished(() => void connection.socket.destroy())
  return { reader, connection }
}

/** A connection to an origin that does `serve`. */
async function upstream(serve: (socket: Socket) => void): Promise<TcpUpstream> {
  const { port } = await rawOrigin(serve)
  const connection = new TcpUpstream('127.0.0.1', port)
  onTestFinished(() => connection.destroy())
  await new Promise<void>((resolve) => connection.socket.once('connect', resolve))
  return connection
}

/** What passes everything on that comes. */
function passer(from: ByteSource, to: ByteSocket): { pass(bytes: Buffer): void; wereLent: boolean } {
  const onTaken = () => resumeWhenTaken(from, to)
  const passing = {
    wereLent: false,
    pass(bytes: Buffer) {
      passing.wereLent ||= from.ownership === 'lent'
      forwardBytes(from, to, bytes, onTaken)
    },
  }
  return passing
}

function passOn(from: TcpUpstream, to: ByteSocket): { wereLent: boolean } {
  const passing = passer(from, to)
  from.sink = { onBytes: passing.pass, onEnd: () => void to.end(), onClose() {} }
  return passing
}

describe('bytes passed on from memory that is used again', () => {
  it('arrive whole at one who reads slowly', async () => {
    const { reader, connection } = await client()
    const all = pattern(LARGE_BYTES)
    const from = await upstream((socket) => socket.end(all))
    const passing = passOn(from, connection.socket)
    const step = () => {
      reader.socket.resume()
      setImmediate(() => {
        if (reader.bytes < 4 * 1024 * 1024) reader.socket.pause()
        if (!reader.ended) setImmediate(step)
      })
    }
    await eventually(() => connection.socket.writableLength > 0)
    step()
    await eventually(() => reader.ended)
    expect(passing.wereLent).toBe(true)
    expect(reader.received.equals(all)).toBe(true)
  })

  it('are not overwritten by others when their source closes while they wait', async () => {
    const { reader, connection } = await client()
    const all = pattern(LARGE_BYTES)
    const from = await upstream((socket) => socket.write(all))
    const passing = passOn(from, connection.socket)
    await eventually(() => connection.socket.writableLength > 0)
    expect(passing.wereLent).toBe(true)
    const closed = new Promise<void>((resolve) => from.socket.once('close', resolve))
    from.destroy()
    await closed
    // Others in need of the same memory.
    for (let n = 0; n < 3; n++) {
      const other = await upstream((socket) => socket.end(pattern(LARGE_BYTES, 7)))
      await new Promise<void>((resolve) => {
        other.sink = { onBytes() {}, onEnd: resolve, onClose() {} }
      })
      other.destroy()
    }
    connection.socket.end()
    reader.socket.resume()
    await eventually(() => reader.ended)
    expect(reader.bytes).toBeGreaterThan(0)
    expect(reader.received.equals(all.subarray(0, reader.bytes))).toBe(true)
  })

  it.each([
    ['a little, in the memory of all', 'shared', 10_000],
    ['a little, in memory of their own', 'lent', 10_000],
    ['more, in memory of their own', 'lent', 40_000],
  ] as const)('are not overwritten while few of them wait: %s', async (_what, ownership, sizeBytes) => {
    const { reader, connection } = await client()
    let origin: Socket | undefined
    const from = await upstream((socket) => (origin = socket))
    await eventually(() => origin !== undefined)
    passOn(from, connection.socket)
    const sent: Buffer[] = []
    const send = (bytes: number) => {
      sent.push(pattern(bytes, sent.length + 1))
      origin!.write(sent.at(-1)!)
    }
    const sentBytes = () => sent.reduce((sum, { length }) => sum + length, 0)
    reader.socket.resume()
    while (from.ownership !== ownership) {
      send(64 * 1024)
      await eventually(() => reader.bytes === sentBytes())
    }
    reader.socket.pause()
    while (connection.socket.writableLength === 0) {
      sent.push(Buffer.alloc(1024, 'f'))
      connection.socket.write(sent.at(-1)!)
    }
    const before = connection.socket.writableLength
    send(sizeBytes)
    await eventually(() => connection.socket.writableLength === before + sizeBytes)
    // What comes now must not be read to where the bytes are that wait.
    send(sizeBytes)
    for (const bytes of [1000, LARGE_BYTES]) {
      const other = await upstream((socket) => socket.end(pattern(bytes, 7)))
      await new Promise<void>((resolve) => {
        other.sink = { onBytes() {}, onEnd: resolve, onClose() {} }
      })
    }
    origin!.end()
    reader.socket.resume()
    await eventually(() => reader.ended)
    expect(reader.received.equals(Buffer.concat(sent))).toBe(true)
  })

  it('stay as they were for a client’s sink that does not look at their ownership', async () => {
    const { reader, connection } = await client()
    const pieces: Buffer[] = []
    let bytes = 0
    connection.sink = {
      onClientBytes(piece) {
        pieces.push(piece)
        bytes += piece.length
      },
      onClientEnd() {},
      onClientClose() {},
    }
    const all = pattern(LARGE_BYTES)
    reader.socket.write(all)
    await eventually(() => bytes === LARGE_BYTES)
    expect(Buffer.concat(pieces).equals(all)).toBe(true)
  })

  it('come in their order, each once, from a client whose reader is held up at any time by anybody', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('send' as const), bytes: fc.integer({ min: 1, max: 400_000 }) }),
      fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const, 'turn' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.array(fc.boolean()), async (steps, whilePassing) => {
        const { reader, connection } = await client()
        const taker = await client()
        taker.reader.socket.resume()
        const passing = passer(connection, taker.connection.socket)
        let turn = 0
        const sink: ClientSink = {
          takesLent: true,
          onClientBytes(bytes) {
            passing.pass(bytes)
            // Held up by somebody else, who lets go a turn later when nothing is lent.
            if (!whilePassing[turn++]) return
            connection.pause()
            setImmediate(() => resumeWhenTaken(connection, taker.connection.socket))
          },
          onClientEnd: () => void taker.connection.socket.end(),
          onClientClose() {},
        }
        connection.sink = sink
        const words = pattern(steps.length * 400_000 + 4)
        let sent = 0
        for (const one of steps)
          if (one.do === 'send') reader.socket.write(words.subarray(sent, (sent += one.bytes)))
          else if (one.do === 'turn') await new Promise((resolve) => setImmediate(resolve))
          else if (one.do === 'pause') connection.pause()
          else resumeWhenTaken(connection, taker.connection.socket)
        reader.socket.end()
        resumeWhenTaken(connection, taker.connection.socket)
        await eventually(() => taker.reader.ended)
        expect(taker.reader.received.equals(words.subarray(0, sent))).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})

describe('a client that is given away', () => {
  it('is read by its new owner, from the first byte after those its old one had', async () => {
    const { reader, connection } = await client()
    reader.socket.write('first')
    await new Promise<void>((resolve) => {
      connection.sink = {
        onClientBytes(bytes) {
          expect(bytes.toString()).toBe('first')
          resolve()
        },
        onClientEnd() {},
        onClientClose() {},
      }
    })
    connection.pause()
    const socket = connection.release()
    let text = ''
    socket.on('data', (bytes) => (text += bytes.toString('latin1')))
    reader.socket.write('second')
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(text).toBe('')
    socket.resume()
    await eventually(() => text === 'second')

    const again = new ClientConnection(socket)
    const pieces: string[] = []
    again.sink = { onClientBytes: (bytes) => pieces.push(String(bytes)), onClientEnd() {}, onClientClose() {} }
    reader.socket.write('third')
    await eventually(() => pieces.join('') === 'third')
  })
})
