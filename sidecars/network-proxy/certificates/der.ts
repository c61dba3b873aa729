/** ASN.1 in distinguished encoding (X.690): the few types that certificates are made of. */

const BOOLEAN = 0x01
const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const NULL = 0x05
const OBJECT_IDENTIFIER = 0x06
const ENUMERATED = 0x0a
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const GENERALIZED_TIME = 0x18
const SEQUENCE = 0x30
const SET = 0x31
const CONTEXT = 0x80
const CONSTRUCTED = 0x20

/** One element: tag, length, contents. */
export function element(tag: number, ...contents: Buffer[]): Buffer {
  const body = contents.length === 1 ? contents[0]! : Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag]), lengthBytes(body.length), body])
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

export const sequence = (...contents: Buffer[]): Buffer => element(SEQUENCE, ...contents)
export const set = (...contents: Buffer[]): Buffer => element(SET, ...contents)
export const octetString = (bytes: Buffer): Buffer => element(OCTET_STRING, bytes)
export const utf8String = (text: string): Buffer => element(UTF8_STRING, Buffer.from(text))
export const boolean = (value: boolean): Buffer => element(BOOLEAN, Buffer.from([value ? 0xff : 0]))
export const nullValue = (): Buffer => element(NULL, Buffer.alloc(0))
export const enumerated = (value: number): Buffer => element(ENUMERATED, Buffer.from([value]))

/** Context-specific tag around whole elements. */
export const explicit = (number: number, ...contents: Buffer[]): Buffer =>
  element(CONTEXT | CONSTRUCTED | number, ...contents)

/** Context-specific tag in place of a primitive type's own. */
export const implicit = (number: number, bytes: Buffer): Buffer => element(CONTEXT | number, bytes)

/** A positive number from its big-endian bytes. */
export function unsignedInteger(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const digits = bytes.subarray(start)
  // The first bit is the sign.
  return element(INTEGER, ...(digits[0]! & 0x80 ? [Buffer.from([0]), digits] : [digits]))
}

export const smallInteger = (value: number): Buffer => unsignedInteger(Buffer.from([value]))

export function bitString(bytes: Buffer, unusedBits = 0): Buffer {
  return element(BIT_STRING, Buffer.from([unusedBits]), bytes)
}

/** `1.2.840.10045.4.3.2` and the like. */
export function objectIdentifier(dotted: string): Buffer {
  const arcs = dotted.split('.').map(Number)
  const [first = 0, second = 0, ...rest] = arcs
  return element(OBJECT_IDENTIFIER, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(arc: number): number[] {
  const bytes = [arc & 0x7f]
  for (let rest = arc >>> 7; rest > 0; rest >>>= 7) bytes.unshift(0x80 | (rest & 0x7f))
  return bytes
}

/** Whole seconds in UTC; RFC 5280 wants UTCTime up to 2049 and GeneralizedTime from then on. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/\.\d+/, '').replace(/[-:T]/g, '')
  return date.getUTCFullYear() < 2050
    ? element(UTC_TIME, Buffer.from(digits.slice(2)))
    : element(GENERALIZED_TIME, Buffer.from(digits))
}

export interface DerElement {
  tag: number
  /** With tag and length. */
  whole: Buffer
  contents: Buffer
}

/** The element at `at`. @throws RangeError when the bytes end before it does */
export function readElement(bytes: Buffer, at = 0): DerElement {
  const tag = bytes.readUInt8(at)
  let start = at + 2
  let length = bytes.readUInt8(at + 1)
  if (length >= 0x80) {
    const count = length & 0x7f
    if (count === 0 || count > 4) throw new RangeError('a length that DER does not have')
    length = bytes.readUIntBE(start, count)
    start += count
  }
  const end = start + length
  if (end > bytes.length) throw new RangeError('an element longer than what contains it')
  return { tag, whole: bytes.subarray(at, end), contents: bytes.subarray(start, end) }
}

/** The elements inside a constructed one. @throws RangeError */
export function readElements(contents: Buffer): DerElement[] {
  const elements: DerElement[] = []
  for (let at = 0; at < contents.length;) {
    const next = readElement(contents, at)
    elements.push(next)
    at += next.whole.length
  }
  return elements
}
