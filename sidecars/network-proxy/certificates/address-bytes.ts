/** An IP address as the bytes that stand in a certificate. */
import { isIPv4 } from 'node:net'

/** 4 bytes of an IPv4 address, 16 of an IPv6 one; a zone is no part of an address. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [text = ''] = address.split('%')
  const [head = '', tail] = text.split('::')
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0)
  const bytes = Buffer.alloc(16)
  for (const [at, group] of [...before, ...zeros, ...after].entries()) bytes.writeUInt16BE(group, at * 2)
  return bytes
}

function groups(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!isIPv4(group)) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
