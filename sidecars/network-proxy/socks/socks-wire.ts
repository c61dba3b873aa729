/** SOCKS5 messages as bytes (RFC 1928, 1929). Readers return undefined while bytes are missing. */
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

export const SOCKS_VERSION = 5
/** Version of the user and password exchange (RFC 1929). */
export const PASSWORD_VERSION = 1
export const METHOD_NONE = 0x00
export const METHOD_PASSWORD = 0x02
export const METHOD_UNACCEPTABLE = 0xff

export const COMMAND_CONNECT = 1
export const COMMAND_UDP_ASSOCIATE = 3

/** Reply codes of RFC 1928, section 6. */
export const REPLY = {
  ok: 0x00,
  failure: 0x01,
  notAllowed: 0x02,
  networkUnreachable: 0x03,
  hostUnreachable: 0x04,
  refused: 0x05,
  commandNotSupported: 0x07,
  addressNotSupported: 0x08,
} as const
export type Reply = (typeof REPLY)[keyof typeof REPLY]

/** An error of the operating system in SOCKS words. */
export function replyForError(code: string): Reply {
  switch (code) {
    case 'ECONNREFUSED':
      return REPLY.refused
    case 'ENETUNREACH':
      return REPLY.networkUnreachable
    case 'EHOSTUNREACH':
    case 'EHOSTDOWN':
    case 'ENOTFOUND':
    case 'ETIMEDOUT':
      return REPLY.hostUnreachable
    default:
      return REPLY.failure
  }
}

export interface Parsed<T> {
  value: T
  /** Bytes taken from the start of the buffer. */
  length: number
}

/** Methods that a client offers. */
export function readGreeting(bytes: Buffer): Parsed<Buffer> | undefined {
  const count = bytes[1]
  if (count === undefined || bytes.length < 2 + count) return undefined
  return { value: bytes.subarray(2, 2 + count), length: 2 + count }
}

/** User name of RFC 1929; the password is not looked at, the user name is the secret. */
export function readPassword(bytes: Buffer): Parsed<string> | undefined {
  const nameLength = bytes[1]
  if (nameLength === undefined) return undefined
  const passwordLength = bytes[2 + nameLength]
  if (passwordLength === undefined) return undefined
  const length = 3 + nameLength + passwordLength
  if (bytes.length < length) return undefined
  return { value: bytes.toString('latin1', 2, 2 + nameLength), length }
}

/** `text` is an address or a name as the client wrote it; undefined for an unknown address type. */
export interface SocksAddress {
  text: string | undefined
  port: number
}

export interface SocksRequest extends SocksAddress {
  command: number
}

export function readRequest(bytes: Buffer): Parsed<SocksRequest> | undefined {
  const command = bytes[1]
  const address = readAddress(bytes, 3)
  if (command === undefined || address === undefined) return undefined
  return { value: { command, ...address.value }, length: address.length }
}

/** Address type, address and port at `at`. `length` counts from the start of the buffer. */
export function readAddress(bytes: Buffer, at: number): Parsed<SocksAddress> | undefined {
  const type = bytes[at]
  if (type === undefined) return undefined
  if (type !== 1 && type !== 3 && type !== 4) return { value: { text: undefined, port: 0 }, length: bytes.length }
  const nameLength = type === 3 ? bytes[at + 1] : 0
  if (nameLength === undefined) return undefined
  const start = type === 3 ? at + 2 : at + 1
  const end = start + (type === 1 ? 4 : type === 4 ? 16 : nameLength)
  if (bytes.length < end + 2) return undefined
  const raw = bytes.subarray(start, end)
  return { value: { text: addressText(type, raw), port: bytes.readUInt16BE(end) }, length: end + 2 }
}

function addressText(type: number, raw: Buffer): string {
  if (type === 3) return raw.toString('latin1')
  return type === 1 ? raw.join('.') : ipaddr.fromByteArray([...raw]).toString()
}

/** Address type, address and port of a literal. */
export function writeAddress(address: string, port: number): Buffer {
  if (isIPv4(address)) return Buffer.from([1, ...address.split('.').map(Number), port >> 8, port & 255])
  const bytes = ipaddr.parse(address.split('%')[0]!).toByteArray()
  return Buffer.from([4, ...bytes, port >> 8, port & 255])
}

/** A whole reply; clients hang on a shortened one. */
export function writeReply(reply: Reply, bound?: { address: string; port: number }): Buffer {
  const address = writeAddress(bound?.address ?? '0.0.0.0', bound?.port ?? 0)
  return Buffer.concat([Buffer.from([SOCKS_VERSION, reply, 0]), address])
}

/** "Rejected" of SOCKS4, which names no reason and knows no names. */
export const SOCKS4_REJECTED = Buffer.from([0, 0x5b, 0, 0, 0, 0, 0, 0])
