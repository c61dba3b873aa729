/** The envelope of SOCKS5 datagrams (RFC 1928, section 7). */
import { readAddress, writeAddress, type SocksAddress } from './socks-wire.ts'

export interface UdpRequest extends SocksAddress {
  payload: Buffer
}

/** Reads what a client sent; undefined for fragments and everything malformed, which is dropped. */
export function readUdpRequest(datagram: Buffer): UdpRequest | undefined {
  if (datagram.length < 4 || datagram[0] !== 0 || datagram[1] !== 0 || datagram[2] !== 0) return undefined
  const address = readAddress(datagram, 3)
  if (address === undefined || address.value.text === undefined || address.value.text === '') return undefined
  return { ...address.value, payload: datagram.subarray(address.length) }
}

/** Wraps an answer of `address`:`port` for the client. */
export function writeUdpReply(address: string, port: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0, 0, 0]), writeAddress(address, port), payload])
}
