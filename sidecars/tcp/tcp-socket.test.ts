import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import fc from '../testing/fast-check.ts'
import { resetSocket } from './reset-socket.ts'
import { rawOrigin } from '../network-proxy/test-kit/origins.ts'
import { eventually } from '../network-proxy/test-kit/owner.ts'
import { silentPort } from '../network-proxy/test-kit/silent-origin.ts'
import type { ByteSocket } from './byte-socket.ts'
import { tcpBinding } from './tcp-binding.ts'
import { TcpSocket } from './tcp-socket.ts'

const binding = tcpBinding()!
const PIECE_BYTES = 64 * 1024
/** More than the kernel keeps for a reader that does not read. */
const LARGE_BYTES = 12 * 1024 * 1024

/** Both ways of making a connection: what is true of one is true of the other. */
const KINDS: [name: string, open: (address: string, port: number) => ByteSocket][] = [
  ['TcpSocket', (address, port) => TcpSocket.connect(address, port, binding)],
  ['net.Socket', (host, port) => connect({ host, port, noDelay: true, allowHalfOpen: true })],
]

/** Bytes in which every word looks different; `start` is the place of the first. */
function pattern(sizeBytes: number, start = 0): Buffer {
  const words = new Int32Array(Math.ceil(sizeBytes / 4))
  for (let at = 0; at < words.length; at++) words[at] = Math.imul(start + at, 0x9e3779b1)
  return Buffer.from(words.buffer, 0, sizeBytes)
}

/** What a socket does, as it does it. */
class Watched {
  readonly events: string[] = []
  private readonly pieces: Buffer[] = []
  bytes = 0

  constructor(readonly socket: ByteSocket) {
    for (const event of ['connect', 'end', 'drain', 'finish', 'close'] as const)
      socket.on(event, () => this.events.push(event))
    socket.on('error', (error: NodeJS.ErrnoException) => this.events.push(`error ${error.code}`))
    socket.on('data', (bytes) => {
      this.pieces.push(bytes)
      this.bytes += bytes.length
    })
  }

  get received(): Buffer {
    return Buffer.concat(this.pieces)
  }

  until(event: string): Promise<void> {
    return eventually(() => this.events.includes(event))
  }
}

interface Pair extends Watched {
  peer: Watched
  /** The same socket as what it is. */
  peerSocket: Socket
}

describe.each(KINDS)('a connection by %s', (_name, open) => {
  /** A connected pair; the peer is of node:net and has read nothing yet. */
  async function pair(): Promise<Pair> {
    let accept: (socket: Socket) => void
    const accepted = new Promise<Socket>((resolve) => (accept = resolve))
    const origin = await rawOrigin((socket) => accept(socket.pause()))
    const socket = open('127.0.0.1', origin.port)
    onTestFinished(() => void socket.destroy())
    const watched = new Watched(socket)
    await watched.until('connect')
    const peerSocket = await accepted
    const peer = new Watched(peerSocket)
    peerSocket.pause()
    return Object.assign(watched, { peer, peerSocket })
  }

  it('carries bytes and text both ways, and knows its addresses', async () => {
    const ours = await pair()
    const { socket, peer, peerSocket } = ours
    expect(socket.write(Buffer.from('bytes, '))).toBe(true)
    expect(socket.write('t\xe9xt', 'latin1')).toBe(true)
    peerSocket.resume()
    peerSocket.write('answer')
    await eventually(() => peer.bytes === 11 && ours.bytes === 6)
    expect([peer.received.toString('latin1'), ours.received.toString()]).toEqual(['bytes, t\xe9xt', 'answer'])
    expect([socket.remoteAddress, socket.remotePort]).toEqual([peerSocket.localAddress, peerSocket.localPort])
    expect([socket.localAddress, socket.localPort]).toEqual([peerSocket.remoteAddress, peerSocket.remotePort])
  })

  it('tells a writer to wait, when it may go on, and loses nothing meanwhile', async () => {
    const ours = await pair()
    const { socket, peer } = ours
    const all = pattern(LARGE_BYTES)
    let taken = 0
    let wasTold = false
    for (let at = 0; at < LARGE_BYTES; at += PIECE_BYTES) {
      const onTaken = () => void taken++
      if (!socket.write(all.subarray(at, at + PIECE_BYTES), onTaken)) wasTold = true
    }
    expect([wasTold, socket.writableNeedDrain]).toEqual([true, true])
    const waiting = Math.floor(socket.writableLength / PIECE_BYTES)
    expect(waiting).toBeGreaterThan(0)
    expect(ours.events).not.toContain('drain')
    peer.socket.resume()
    await ours.until('drain')
    expect([socket.writableLength, socket.writableNeedDrain]).toEqual([0, false])
    expect(taken).toBeGreaterThanOrEqual(waiting)
    await eventually(() => peer.bytes === LARGE_BYTES)
    expect(peer.received.equals(all)).toBe(true)
    expect(ours.events.filter((event) => event === 'drain')).toEqual(['drain'])
  })

  it('keeps the memory of bytes that wait, whoever else has forgotten it', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const { socket, peer } = await pair()
    for (let at = 0; at < LARGE_BYTES; at += PIECE_BYTES) socket.write(pattern(PIECE_BYTES, at / 4))
    socket.cork()
    for (let at = LARGE_BYTES; at < 2 * LARGE_BYTES; at += PIECE_BYTES) socket.write(pattern(PIECE_BYTES, at / 4))
    socket.uncork()
    for (let round = 0; round < 3; round++) {
      collect()
      // What was freed is used again at once.
      for (let n = 0; n < 200; n++) Buffer.alloc(PIECE_BYTES, 'x')
      await new Promise((resolve) => setImmediate(resolve))
    }
    peer.socket.resume()
    await eventually(() => peer.bytes === 2 * LARGE_BYTES)
    expect(peer.received.equals(pattern(2 * LARGE_BYTES))).toBe(true)
  })

  it('ends its half behind what waits, and reads on until the other side has ended', async () => {
    const ours = await pair()
    const { socket, peer } = ours
    const all = pattern(LARGE_BYTES)
    socket.write(all)
    socket.end()
    expect([socket.writable, socket.writableEnded, socket.writableFinished]).toEqual([false, true, false])
    peer.socket.resume()
    await peer.until('end')
    expect(peer.received.equals(all)).toBe(true)
    await ours.until('finish')
    expect([socket.writableFinished, socket.destroyed]).toEqual([true, false])
    peer.socket.write(Buffer.from('answer'))
    peer.socket.end()
    await ours.until('close')
    expect(ours.received.toString()).toBe('answer')
    expect([socket.readableEnded, socket.destroyed]).toEqual([true, true])
    expect(ours.events.filter((event) => event !== 'drain')).toEqual(['connect', 'finish', 'end', 'close'])
  })

  it('writes on after the other side has ended its half', async () => {
    const ours = await pair()
    const { socket, peer } = ours
    peer.socket.write(Buffer.from('request'))
    peer.socket.end()
    await ours.until('end')
    expect([socket.readableEnded, socket.writable, socket.destroyed]).toEqual([true, true, false])
    socket.write(Buffer.from('answer'))
    socket.end()
    peer.socket.resume()
    await ours.until('close')
    await peer.until('close')
    expect([ours.received.toString(), peer.received.toString()]).toEqual(['request', 'answer'])
    expect(ours.events).toEqual(['connect', 'end', 'finish', 'close'])
  })

  it('leaves in the kernel what comes while it is paused, the end too', async () => {
    const ours = await pair()
    const { socket, peer, peerSocket } = ours
    socket.pause()
    const all = pattern(LARGE_BYTES)
    peerSocket.write(all)
    peerSocket.end()
    await eventually(() => peerSocket.writableLength > 0 && peerSocket.bytesWritten === LARGE_BYTES)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect([ours.bytes, peerSocket.writableFinished]).toEqual([0, false])
    expect(ours.events).toEqual(['connect'])
    socket.resume()
    await ours.until('end')
    expect(ours.received.equals(all)).toBe(true)
    expect(peer.events).toContain('finish')
  })

  it('can be paused and resumed while it is told of bytes', async () => {
    const ours = await pair()
    const { socket, peerSocket } = ours
    socket.on('data', () => {
      socket.pause()
      setImmediate(() => socket.resume())
      if (ours.bytes % 3 === 0) socket.resume()
    })
    const all = pattern(4 * 1024 * 1024)
    peerSocket.end(all)
    await ours.until('end')
    expect(ours.received.equals(all)).toBe(true)
  })

  it('gathers writes, and sends them in their order', async () => {
    const { socket, peer } = await pair()
    peer.socket.resume()
    let taken = 0
    socket.write(Buffer.from('a'))
    socket.cork()
    socket.write(Buffer.from('b'))
    socket.write('c', 'latin1')
    socket.write(Buffer.alloc(0))
    socket.uncork()
    socket.cork()
    socket.write(Buffer.from('d'))
    socket.uncork()
    socket.uncork()
    socket.cork()
    socket.write(Buffer.from('e'))
    for (let n = 0; n < 3000; n++) socket.write(Buffer.from('f'))
    socket.write(Buffer.alloc(LARGE_BYTES, 'g'), () => void taken++)
    socket.write(Buffer.from('h'))
    socket.end()
    await peer.until('end')
    expect(peer.received.equals(Buffer.from(`abcde${'f'.repeat(3000)}${'g'.repeat(LARGE_BYTES)}h`))).toBe(true)
    expect(taken).toBe(1)
  })

  it('tells of a reset by the other side, then of its close, and of nothing after', async () => {
    const ours = await pair()
    const { socket, peerSocket } = ours
    peerSocket.resetAndDestroy()
    await ours.until('close')
    expect(ours.events).toEqual(['connect', 'error ECONNRESET', 'close'])
    expect(socket.write(Buffer.from('late'))).toBe(false)
    socket.end()
    socket.cork()
    socket.uncork()
    socket.pause()
    socket.resume()
    socket.destroySoon()
    socket.destroy()
    resetSocket(socket)
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(ours.events).toHaveLength(3)
    expect([socket.destroyed, socket.writable, socket.remoteAddress]).toEqual([true, false, undefined])
  })

  it('reads what came before a reset, also when its own half is ended in between', async () => {
    const ours = await pair()
    const { socket, peerSocket } = ours
    socket.pause()
    const all = pattern(100_000)
    await new Promise<void>((resolve) => peerSocket.write(all, () => resolve()))
    const gone = once(peerSocket, 'close')
    peerSocket.resetAndDestroy()
    await gone
    socket.end()
    await new Promise((resolve) => setImmediate(resolve))
    socket.resume()
    await ours.until('close')
    expect(ours.received.equals(all)).toBe(true)
    expect(ours.events).toEqual(expect.arrayContaining(['finish', 'close']))
  })

  it.each([
    ['at rest', () => {}],
    ['corked', (socket: ByteSocket) => socket.cork()],
    [
      'with gathered writes',
      (socket: ByteSocket) => {
        socket.cork()
        socket.write(Buffer.from('x'))
      },
    ],
    ['paused', (socket: ByteSocket) => void socket.pause()],
  ])('resets, %s: the other side learns of it', async (_state, prepare) => {
    const ours = await pair()
    const { socket, peer } = ours
    prepare(socket)
    resetSocket(socket)
    expect(socket.destroyed).toBe(true)
    peer.socket.resume()
    await ours.until('close')
    await peer.until('close')
    expect(peer.events).toEqual(['error ECONNRESET', 'close'])
    expect(ours.events).toEqual(['connect', 'close'])
  })

  it('resets without what waits to be sent', async () => {
    const ours = await pair()
    ours.socket.write(Buffer.alloc(LARGE_BYTES))
    resetSocket(ours.socket)
    await ours.until('close')
    ours.peer.socket.resume()
    // The runtime takes a reset that finds bytes unread for an end.
    await eventually(() => ['end', 'error ECONNRESET'].includes(ours.peer.events[0]!))
    expect(ours.peer.bytes).toBeLessThan(LARGE_BYTES)
    expect(ours.events).toEqual(['connect', 'close'])
  })

  it('is closed where a reset is impossible: while its end waits, and while it connects', async () => {
    const ours = await pair()
    ours.socket.write(Buffer.alloc(LARGE_BYTES))
    ours.socket.end()
    resetSocket(ours.socket)
    await ours.until('close')
    ours.peer.socket.resume()
    await ours.peer.until('end')
    expect(ours.peer.bytes).toBeLessThan(LARGE_BYTES)

    const connecting = new Watched(open('127.0.0.1', await silentPort()))
    expect(connecting.socket.connecting).toBe(true)
    resetSocket(connecting.socket)
    await connecting.until('close')
    expect(connecting.events).toEqual(['close'])
  })

  it('is not connected before the other side is, though its half is ended at once', async () => {
    const silent = new Watched(open('127.0.0.1', await silentPort()))
    silent.socket.end()
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect([silent.events, silent.socket.connecting]).toEqual([[], true])
    silent.socket.destroy()
    await silent.until('close')

    let heard: Watched | undefined
    const origin = await rawOrigin((socket) => {
      heard = new Watched(socket)
      socket.on('end', () => socket.end('answer'))
    })
    const ours = new Watched(open('127.0.0.1', origin.port))
    ours.socket.write(Buffer.from('request'))
    ours.socket.end()
    await ours.until('close')
    expect([ours.received.toString(), heard?.received.toString()]).toEqual(['answer', 'request'])
    expect(ours.events).toEqual(['connect', 'finish', 'end', 'close'])
  })

  it.each([
    ['nobody listens', '127.0.0.1', 'ECONNREFUSED'],
    ['nobody listens, by IPv6', '::1', 'ECONNREFUSED'],
    // Answered by the kernel at once, not by an event.
    ['there is no way', '255.255.255.255', 'ENETUNREACH'],
  ])('fails where %s, with the code of the system', async (_why, address, code) => {
    const unused = await rawOrigin(() => {}, address === '::1' ? '::1' : '127.0.0.1')
    const ours = new Watched(open(address, address === '::1' || address === '127.0.0.1' ? 1 : unused.port))
    expect([ours.socket.connecting, ours.socket.destroyed]).toEqual([true, false])
    await ours.until('close')
    expect(ours.events).toEqual([`error ${code}`, 'close'])
    expect(ours.socket.destroyed).toBe(true)
  })

  it('that is destroyed while it fails tells of its close alone', async () => {
    for (const address of ['127.0.0.1', '255.255.255.255']) {
      const ours = new Watched(open(address, 1))
      ours.socket.destroy()
      await ours.until('close')
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      expect(ours.events).toEqual(['close'])
    }
  })

  it('closes at once, with the error it was given', async () => {
    const ours = await pair()
    ours.socket.write(Buffer.alloc(LARGE_BYTES), () => ours.events.push('taken'))
    ours.socket.destroy(Object.assign(new Error('given'), { code: 'GIVEN' }))
    await ours.until('close')
    expect(ours.events.filter((event) => event !== 'taken')).toEqual(['connect', 'error GIVEN', 'close'])
  })

  it('that is destroyed in the middle of its bytes gives no more of them', async () => {
    const ours = await pair()
    ours.socket.on('data', () => ours.socket.destroy())
    ours.peerSocket.write(pattern(LARGE_BYTES))
    await ours.until('close')
    const { bytes } = ours
    await new Promise((resolve) => setImmediate(resolve))
    expect([ours.bytes, ours.events]).toEqual([bytes, ['connect', 'close']])
    expect(bytes).toBeLessThan(LARGE_BYTES)
  })

  it('closes once all is sent, whatever the other side does with its half', async () => {
    const ours = await pair()
    const all = pattern(LARGE_BYTES)
    ours.socket.write(all)
    ours.socket.destroySoon()
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect([ours.socket.writableEnded, ours.socket.destroyed]).toEqual([true, false])
    ours.peer.socket.resume()
    await ours.until('close')
    await ours.peer.until('end')
    expect(ours.peer.received.equals(all)).toBe(true)
  })

  it('that would close once all is sent can be closed before, when the other side never reads', async () => {
    const ours = await pair()
    ours.socket.write(Buffer.alloc(LARGE_BYTES))
    ours.socket.destroySoon()
    await new Promise((resolve) => setImmediate(resolve))
    ours.socket.destroy()
    await ours.until('close')
    expect(ours.events).toEqual(['connect', 'close'])
  })

  it('loses, repeats and reorders nothing, whatever both sides do and when', async () => {
    const act = fc.oneof(
      fc.record({ do: fc.constant('write' as const), bytes: fc.integer({ min: 0, max: 1_000_000 }) }),
      fc.record({ do: fc.constant('text' as const), bytes: fc.integer({ min: 0, max: 40_000 }) }),
      fc.record({ do: fc.constantFrom('cork', 'uncork', 'pause', 'resume', 'turn') }),
    )
    const script = fc.array(fc.record({ ours: fc.boolean(), act }), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        const ours = await pair()
        const sent = { ours: 0, peer: 0 }
        ours.peer.socket.resume()
        for (const { ours: isOurs, act: step } of steps) {
          const { socket } = isOurs ? ours : ours.peer
          const side = isOurs ? 'ours' : 'peer'
          if (step.do === 'turn') await new Promise((resolve) => setImmediate(resolve))
          else if ('bytes' in step) {
            const bytes = pattern(step.bytes, sent[side])
            if (step.do === 'write') socket.write(bytes)
            else socket.write(bytes.toString('latin1'), 'latin1')
            // Places are counted in words.
            if (step.bytes % 4 > 0)
              socket.write(pattern(4, sent[side] + Math.floor(step.bytes / 4)).subarray(step.bytes % 4))
            sent[side] += Math.ceil(step.bytes / 4)
          } else socket[step.do as 'cork' | 'uncork' | 'pause' | 'resume']()
        }
        for (const { socket } of [ours, ours.peer]) {
          socket.uncork()
          socket.end()
          socket.resume()
        }
        await ours.until('close')
        await ours.peer.until('close')
        expect(ours.received.equals(pattern(4 * sent.peer))).toBe(true)
        expect(ours.peer.received.equals(pattern(4 * sent.ours))).toBe(true)
        expect(ours.events.some((event) => event.startsWith('error'))).toBe(false)
      }),
      { numRuns: 30 },
    )
  })
})

describe('TcpSocket', () => {
  async function connected(serve: (socket: Socket) => void = () => {}, port?: number): Promise<Watched> {
    const ours = new Watched(TcpSocket.connect('127.0.0.1', port ?? (await rawOrigin(serve)).port, binding))
    onTestFinished(() => void ours.socket.destroy())
    await ours.until('connect')
    return ours
  }

  it('takes no more writes once its half is ended, nor after it was given away', async () => {
    const ended = await connected()
    ended.socket.end()
    expect(ended.socket.write(Buffer.from('late'))).toBe(false)
    const given = await connected()
    const stream = (given.socket as TcpSocket).intoStream()
    onTestFinished(() => void stream.destroy())
    expect([given.socket.writable, given.socket.write(Buffer.from('late'))]).toEqual([false, false])
  })

  it('closes where the runtime cannot reset: while its end waits, and before it has a descriptor', async () => {
    const ending = await connected()
    ending.socket.write(Buffer.alloc(LARGE_BYTES))
    ending.socket.end()
    ending.socket.resetAndDestroy()
    await ending.until('close')

    class OutOfDescriptors extends binding.Tcp {
      override connect(): number {
        return -constants.errno.EMFILE
      }
    }
    const failing = new Watched(TcpSocket.connect('127.0.0.1', 1, { ...binding, Tcp: OutOfDescriptors }))
    failing.socket.resetAndDestroy()
    await failing.until('close')
    expect(failing.events).toEqual(['close'])
    const failed = new Watched(TcpSocket.connect('127.0.0.1', 1, { ...binding, Tcp: OutOfDescriptors }))
    await failed.until('close')
    expect(failed.events).toEqual(['error EMFILE', 'close'])
  })

  it('sends what was gathered with one call', async () => {
    const calls: string[] = []
    class Counted extends binding.Tcp {
      override writeBuffer(...parts: [never, never]): number {
        calls.push('writeBuffer')
        return super.writeBuffer(...parts)
      }
      override writev(...parts: [never, never, true]): number {
        calls.push('writev')
        return super.writev(...parts)
      }
    }
    const { port } = await rawOrigin(() => {})
    const ours = new Watched(TcpSocket.connect('127.0.0.1', port, { ...binding, Tcp: Counted }))
    onTestFinished(() => void ours.socket.destroy())
    await ours.until('connect')
    ours.socket.cork()
    for (const text of ['a', 'b', 'c']) ours.socket.write(Buffer.from(text))
    expect(calls).toEqual([])
    ours.socket.uncork()
    expect(calls).toEqual(['writev'])
  })

  it('reads into the memory of its target, and to `data` once it has none', async () => {
    let peer: Socket | undefined
    const origin = await rawOrigin((socket) => (peer = socket))
    const memory = Buffer.alloc(4)
    const seen: string[] = []
    const target = {
      buffer: () => memory,
      callback: (sizeBytes: number, buffer: Uint8Array) => {
        expect(buffer).toBe(memory)
        seen.push(memory.toString('latin1', 0, sizeBytes))
        return seen.length < 2
      },
    }
    const socket = TcpSocket.connect('127.0.0.1', origin.port, binding, target)
    onTestFinished(() => socket.destroy())
    const ours = new Watched(socket)
    await ours.until('connect')
    await eventually(() => peer !== undefined)
    peer!.write('12345678abcdefgh')
    await eventually(() => seen.length === 2)
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect([seen, ours.bytes]).toEqual([['1234', '5678'], 0])
    socket.readTo(undefined)
    socket.resume()
    await eventually(() => ours.bytes === 8)
    expect(ours.received.toString()).toBe('abcdefgh')
  })

  it('becomes a stream that goes on with its bytes, and closes with it', async () => {
    const origin = await rawOrigin((socket) => socket.pipe(socket))
    const ours = await connected(undefined, origin.port)
    const stream = (ours.socket as TcpSocket).intoStream(Buffer.from('unread'))
    expect(String(stream.read())).toBe('unread')
    expect(ours.socket.remotePort).toBe(origin.port)
    await eventually(() => origin.sockets.size === 1)
    ours.socket.destroy()
    await once(stream, 'close')
    expect(stream.destroyed).toBe(true)
    await eventually(() => origin.sockets.size === 0)
  })

  it('that is gone becomes a stream that is', async () => {
    const ours = await connected()
    ours.socket.destroy()
    expect((ours.socket as TcpSocket).intoStream().destroyed).toBe(true)
    await ours.until('close')
    expect((ours.socket as TcpSocket).intoStream(Buffer.from('unread')).destroyed).toBe(true)
  })
})

describe('a connection taken from a stream', () => {
  const target = (into: Buffer[]) => {
    const memory = Buffer.alloc(PIECE_BYTES)
    const callback = (sizeBytes: number) => {
      into.push(Buffer.from(memory.subarray(0, sizeBytes)))
      return true
    }
    return { buffer: () => memory, callback }
  }

  async function connected(path: { host: string; port: number } | { path: string }): Promise<Socket> {
    const stream = connect(path)
    stream.on('error', () => {})
    onTestFinished(() => void stream.destroy())
    await once(stream, 'connect')
    return stream
  }

  it('carries bytes both ways, in place of the stream', async () => {
    const heard: Buffer[] = []
    let peer: Socket | undefined
    const origin = await rawOrigin((socket) => {
      peer = socket
      socket.on('data', (bytes: Buffer) => heard.push(bytes))
    })
    const stream = await connected({ host: '127.0.0.1', port: origin.port })
    const read: Buffer[] = []
    const taken = TcpSocket.takenFrom(stream, binding, target(read))!
    onTestFinished(() => taken.destroy())
    taken.write(Buffer.from('out'))
    await eventually(() => Buffer.concat(heard).toString() === 'out')
    peer!.write('in')
    taken.resume()
    await eventually(() => Buffer.concat(read).toString() === 'in')
    // It is nothing of the stream's any more.
    stream.destroy()
    peer!.write(', too')
    await eventually(() => Buffer.concat(read).toString() === 'in, too')
  })

  it('is not to be had while the stream is still writing', async () => {
    const origin = await rawOrigin((socket) => socket.pause())
    const stream = await connected({ host: '127.0.0.1', port: origin.port })
    stream.write(pattern(LARGE_BYTES))
    expect(stream.writableLength).toBeGreaterThan(0)
    expect(TcpSocket.takenFrom(stream, binding, target([]))).toBeUndefined()
    expect(stream.destroyed).toBe(false)
  })

  it('is not to be had from a unix socket, which stays as it was', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'taken-'))
    const server = createServer((socket) => socket.end('still here')).listen(join(folder, 's'))
    onTestFinished(() => {
      server.close()
      rmSync(folder, { recursive: true })
    })
    await once(server, 'listening')
    const stream = await connected({ path: join(folder, 's') })
    expect(TcpSocket.takenFrom(stream, binding, target([]))).toBeUndefined()
    const [bytes] = (await once(stream, 'data')) as [Buffer]
    expect(bytes.toString()).toBe('still here')
  })
})
