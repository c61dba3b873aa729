/**
 * Bodies in the aws-chunked coding whose chunks are signed one by one, as SDKs upload to S3: each signature covers
 * the one before it, so all of them are made anew. They have one length, so the body keeps its own.
 */
import { MalformedHttp } from '../http/fields.ts'
import { hmac, scopeOf, sha256, signingKey, type AwsClaim, type AwsCredentials } from './aws-signature.ts'

const EMPTY_HASH = sha256('')
const LINE_END = Buffer.from('\r\n')
/** A size of at most 8 hex digits, and nothing but the signature after it. */
const CHUNK_LINE = /^([0-9a-f]{1,8});chunk-signature=[0-9a-f]{64}$/i
const TRAILER_SIGNATURE = 'x-amz-trailer-signature'
const SIGNATURE = /^[0-9a-f]{64}$/i

/**
 * The same body with signatures by `credentials`, the first of which goes on from `seed`, the signature of the request.
 * @throws MalformedHttp for a body that is not in that coding to its last byte
 */
export function signChunksAgain(body: Buffer, seed: string, claim: AwsClaim, credentials: AwsCredentials): Buffer {
  const key = signingKey(credentials.secretAccessKey, claim)
  const sign = (kind: string, ...parts: string[]) =>
    hmac(key, [`AWS4-HMAC-SHA256-${kind}`, claim.time, scopeOf(claim), ...parts].join('\n')).toString('hex')
  const reader = new LineReader(body)
  const written: (Buffer | string)[] = []
  let signature = seed
  for (;;) {
    const [, size] = CHUNK_LINE.exec(reader.line()) ?? malformed('a chunk without its size and signature')
    const data = reader.bytes(Number.parseInt(size!, 16))
    signature = sign('PAYLOAD', signature, EMPTY_HASH, sha256(data))
    written.push(`${size};chunk-signature=${signature}\r\n`)
    if (data.length === 0) break
    if (reader.line() !== '') malformed('a chunk that goes on after its size')
    written.push(data, LINE_END)
  }
  const trailers: string[] = []
  for (let line = reader.line(); line !== ''; line = reader.line()) {
    const { name, value } = trailerOf(line)
    if (name === TRAILER_SIGNATURE) {
      if (!SIGNATURE.test(value)) malformed('a signature of trailers that is none')
      signature = sign('TRAILER', signature, sha256(trailers.join('')))
      written.push(`${line.slice(0, -value.length)}${signature}\r\n`)
    } else {
      trailers.push(`${name}:${value}\n`)
      written.push(`${line}\r\n`)
    }
  }
  if (!reader.done) malformed('bytes after the last chunk')
  written.push(LINE_END)
  return Buffer.concat(written.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
}

function trailerOf(line: string): { name: string; value: string } {
  const at = line.indexOf(':')
  if (at <= 0) malformed('a trailer without a name')
  return { name: line.slice(0, at).toLowerCase(), value: line.slice(at + 1).trim() }
}

class LineReader {
  private at = 0
  constructor(private readonly body: Buffer) {}

  get done(): boolean {
    return this.at === this.body.length
  }

  /** Without its end. */
  line(): string {
    const end = this.body.indexOf(LINE_END, this.at)
    if (end < 0) malformed('an end before its last chunk')
    const text = this.body.toString('latin1', this.at, end)
    this.at = end + LINE_END.length
    return text
  }

  bytes(count: number): Buffer {
    const end = this.at + count
    if (end > this.body.length) malformed('an end before its last chunk')
    const bytes = this.body.subarray(this.at, end)
    this.at = end
    return bytes
  }
}

function malformed(problem: string): never {
  throw new MalformedHttp(`a body that is said to be signed chunk by chunk and has ${problem}`)
}
