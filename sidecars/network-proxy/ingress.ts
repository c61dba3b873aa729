/** What a client speaks, told by its first byte, and who it is, where the connection itself says so. */
import type { Socket } from 'node:net'
import { errorResponse } from './http/error-response.ts'
import { ClientSession, type HttpServing } from './http/client-session.ts'
import type { Attribution, LeaseRegistry } from './leases.ts'
import { SOCKS4_REJECTED } from './socks/socks-wire.ts'
import { SocksSession, type SocksServing } from './socks/socks-session.ts'
import { resetSocket } from './reset-socket.ts'

const PREFACE_BYTE = 0x00
const SOCKS4_BYTE = 0x04
const SOCKS5_BYTE = 0x05

/**
 * What a trusted bridge (the one into a network namespace) puts before a client's bytes: this magic, a
 * 16-bit length, and the lease. No HTTP request and no SOCKS greeting starts with a zero byte.
 */
const PREFACE_MAGIC = Buffer.from('\0GHPXY1\0', 'latin1')
const MAX_LEASE_BYTES = 128
const PREFACE_LIMIT_MS = 3000

/** The preface with which a bridge names the lease of a connection. */
export function writePreface(lease: string): Buffer {
  const name = Buffer.from(lease)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(name.length)
  return Buffer.concat([PREFACE_MAGIC, length, name])
}

export interface IngressOptions {
  http: HttpServing
  /** Undefined when SOCKS is off. */
  socks: () => SocksServing | undefined
  leases: LeaseRegistry
}

export class Ingress {
  constructor(private readonly options: IngressOptions) {}

  /** Takes over a fresh connection. `attribution` is set when its listener belongs to one lease. */
  accept(socket: Socket, first: Buffer, attribution: Attribution | undefined): void {
    switch (first[0]) {
      case PREFACE_BYTE:
        return this.readPreface(socket, first)
      case SOCKS4_BYTE:
        return end(socket, this.options.socks() ? SOCKS4_REJECTED : NO_SOCKS)
      case SOCKS5_BYTE: {
        const serving = this.options.socks()
        if (serving) return new SocksSession(socket, serving, attribution).start(first)
        return end(socket, NO_SOCKS)
      }
      default:
        return new ClientSession(socket, this.options.http, attribution).start(first)
    }
  }

  /** An unknown lease in a preface is no client of ours: only the bridge writes prefaces. */
  private readPreface(socket: Socket, first: Buffer): void {
    let received = first
    const timer = setTimeout(() => socket.destroy(), PREFACE_LIMIT_MS)
    const done = () => {
      clearTimeout(timer)
      socket.off('data', onData)
      socket.off('end', onEnd)
      socket.off('close', done)
    }
    const onEnd = () => socket.destroy()
    const read = () => {
      const preface = parsePreface(received)
      if (preface === 'incomplete') return
      const attribution = preface === 'malformed' ? undefined : this.options.leases.attribution(preface.lease)
      if (preface === 'malformed' || attribution?.leaseId === undefined) {
        done()
        return resetSocket(socket)
      }
      const rest = received.subarray(preface.length)
      if (rest.length === 0) return
      done()
      this.accept(socket, rest, attribution)
    }
    const onData = (bytes: Buffer) => {
      received = Buffer.concat([received, bytes])
      read()
    }
    socket.on('data', onData)
    socket.on('end', onEnd)
    socket.on('close', done)
    read()
  }
}

function parsePreface(bytes: Buffer): { lease: string; length: number } | 'incomplete' | 'malformed' {
  const seen = Math.min(bytes.length, PREFACE_MAGIC.length)
  if (!bytes.subarray(0, seen).equals(PREFACE_MAGIC.subarray(0, seen))) return 'malformed'
  if (bytes.length < PREFACE_MAGIC.length + 2) return 'incomplete'
  const length = bytes.readUInt16BE(PREFACE_MAGIC.length)
  if (length === 0 || length > MAX_LEASE_BYTES) return 'malformed'
  const start = PREFACE_MAGIC.length + 2
  if (bytes.length < start + length) return 'incomplete'
  return { lease: bytes.toString('utf8', start, start + length), length: start + length }
}

const NO_SOCKS = errorResponse(400, 'SOCKS is switched off here, speak HTTP', false)

function end(socket: Socket, answer: Buffer): void {
  socket.write(answer)
  socket.end()
  socket.resume()
  socket.once('end', () => socket.destroySoon())
}
