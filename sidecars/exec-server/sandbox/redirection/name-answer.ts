/** RFC 1035, section 4.1.1. */
const HEADER_BYTES = 12
const IS_ANSWER = 0x8000
const OPERATION = 0x7800
const RECURSION_DESIRED = 0x0100
const RECURSION_AVAILABLE = 0x0080
const FORMAT_ERROR = 1
const SERVER_FAILURE = 2
const NO_SUCH_NAME = 3
const NOT_IMPLEMENTED = 4

const TYPE_A = 1
const CLASS_IN = 1
const ANY = 255
/** What stands behind an address is the same for the whole life of a command. */
const TTL_SECONDS = 60
/** Points at the question's name. */
const NAME_POINTER = 0xc000 | HEADER_BYTES
const LOOPBACK = Buffer.from([127, 0, 0, 1])

/**
 * The answer to a DNS query (RFC 1035): each name has the one IPv4 address that `addressOf` gives it, and nothing of
 * any other kind. Names that lead to this machine lead to the loopback of the namespace (RFC 6761). Undefined for what
 * is no query.
 */
export function answerName(query: Buffer, addressOf: (name: string) => Buffer | undefined): Buffer | undefined {
  if (query.length < HEADER_BYTES) return undefined
  const flags = query.readUInt16BE(2)
  if ((flags & IS_ANSWER) !== 0) return undefined
  if ((flags & OPERATION) !== 0) return written(query, undefined, NOT_IMPLEMENTED)
  const question = query.readUInt16BE(4) === 1 ? readQuestion(query) : undefined
  if (!question) return written(query, undefined, FORMAT_ERROR)
  const { name, type, group, bytes } = question
  if (name === undefined) return written(query, bytes, NO_SUCH_NAME)
  const wantsAddress = (type === TYPE_A || type === ANY) && (group === CLASS_IN || group === ANY) && name !== ''
  if (!wantsAddress) return written(query, bytes, 0)
  const address = /^(?:.*\.)?localhost$/i.test(name) ? LOOPBACK : addressOf(name)
  return address ? written(query, bytes, 0, address) : written(query, bytes, SERVER_FAILURE)
}

interface Question {
  /** Undefined when it cannot be that of a host. */
  name: string | undefined
  type: number
  group: number
  /** As they stood in the query. */
  bytes: Buffer
}

function readQuestion(query: Buffer): Question | undefined {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (;;) {
    const length = query[at]
    // The first name of a message has nothing that it could point at.
    if (length === undefined || length > 63) return undefined
    at++
    if (length === 0) break
    labels.push(query.toString('latin1', at, at + length))
    at += length
  }
  if (query.length < at + 4) return undefined
  const isHost = labels.every((label) => /^[!-~]+$/.test(label) && !label.includes('.'))
  return {
    name: isHost ? labels.join('.') : undefined,
    type: query.readUInt16BE(at),
    group: query.readUInt16BE(at + 2),
    bytes: query.subarray(HEADER_BYTES, at + 4),
  }
}

function written(query: Buffer, question: Buffer | undefined, code: number, address?: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  query.copy(header, 0, 0, 2)
  const kept = query.readUInt16BE(2) & (OPERATION | RECURSION_DESIRED)
  header.writeUInt16BE(IS_ANSWER | kept | RECURSION_AVAILABLE | code, 2)
  header.writeUInt16BE(question ? 1 : 0, 4)
  header.writeUInt16BE(address ? 1 : 0, 6)
  const parts = [header, ...(question ? [question] : [])]
  if (address) {
    const record = Buffer.alloc(12)
    record.writeUInt16BE(NAME_POINTER, 0)
    record.writeUInt16BE(TYPE_A, 2)
    record.writeUInt16BE(CLASS_IN, 4)
    record.writeUInt32BE(TTL_SECONDS, 6)
    record.writeUInt16BE(address.length, 10)
    parts.push(record, address)
  }
  return Buffer.concat(parts)
}
