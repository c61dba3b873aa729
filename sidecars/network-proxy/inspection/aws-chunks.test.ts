import { describe, expect, it } from 'vitest'
import { Fields } from '../http/fields.ts'
import { signChunksAgain } from './aws-chunks.ts'
import { readAwsClaim, signAgain, type AwsCredentials, type SignableRequest } from './aws-signature.ts'

// The examples in the S3 manual.
const S3: AwsCredentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
}
const PLAIN = {
  payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  length: '66824',
  names:
    'content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class',
  signatures: [
    'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
    '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
    'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
  ],
}

function upload({ payload, length, names }: typeof PLAIN): SignableRequest {
  const fields = new Fields()
  const lines: Record<string, string> = {
    'Content-Encoding': 'aws-chunked',
    'Content-Length': length,
    'X-Amz-Content-Sha256': payload,
    'X-Amz-Date': '20130524T000000Z',
    'X-Amz-Decoded-Content-Length': '66560',
    'X-Amz-Storage-Class': 'REDUCED_REDUNDANCY',
    Authorization: `AWS4-HMAC-SHA256 Credential=AKPLACEHOLDER/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names}, Signature=${'0'.repeat(64)}`,
  }
  for (const [name, value] of Object.entries(lines)) fields.add(name, value)
  return { method: 'PUT', path: '/examplebucket/chunkObject.txt', host: 's3.amazonaws.com', fields }
}

const EXAMPLE_CHUNKS = ['a'.repeat(65536), 'a'.repeat(1024), '']
/** A body of `chunks`, signed with these. */
function chunked(chunks: readonly string[], signatures: readonly string[], trailers = ''): Buffer {
  const parts = chunks.map(
    (data, at) =>
      `${data.length.toString(16)};chunk-signature=${signatures[at]}\r\n${data}${data === '' ? '' : '\r\n'}`,
  )
  return Buffer.from(`${parts.join('')}${trailers}\r\n`, 'latin1')
}
const PLACEHOLDERS = EXAMPLE_CHUNKS.map((_, at) => String(at).repeat(64))

function signedAnew(example: typeof PLAIN, body: Buffer): Buffer {
  const asked = upload(example)
  const claim = readAwsClaim(asked)!
  return signChunksAgain(body, signAgain(asked, claim, S3, body).signature, claim, S3)
}

describe('a body that is signed chunk by chunk', () => {
  it('is signed anew as the published example says, and keeps its length', () => {
    const asked = upload(PLAIN)
    const body = chunked(EXAMPLE_CHUNKS, PLACEHOLDERS)
    expect(body.length).toBe(Number(PLAIN.length))
    const { signature } = signAgain(asked, readAwsClaim(asked)!, S3, body)
    expect(signature).toBe('4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9')
    expect(signedAnew(PLAIN, body).equals(chunked(EXAMPLE_CHUNKS, PLAIN.signatures))).toBe(true)
  })

  it('with trailers has these signed as well', () => {
    const trailers = (signature: string) => `x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:${signature}\r\n`
    const asked = upload({ ...PLAIN, payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER' })
    const claim = readAwsClaim(asked)!
    const seed = '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e'
    const signatures = [
      'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
      '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
      '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
    ]
    const signed = signChunksAgain(chunked(EXAMPLE_CHUNKS, PLACEHOLDERS, trailers('0'.repeat(64))), seed, claim, S3)
    const expected = trailers('d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435')
    expect(signed.equals(chunked(EXAMPLE_CHUNKS, signatures, expected))).toBe(true)
  })

  const sized = (size: string) => `${size};chunk-signature=${'0'.repeat(64)}\r\n`
  it.each([
    ['nothing', '', 'an end before'],
    ['no chunks', 'hello\r\n', 'without its size'],
    ['a chunk without a signature', '5\r\nhello\r\n0\r\n\r\n', 'without its size'],
    ['a short signature', '5;chunk-signature=00\r\nhello\r\n', 'without its size'],
    ['an extension of its own', `5;x=1;chunk-signature=${'0'.repeat(64)}\r\nhello\r\n`, 'without its size'],
    ['a chunk that is longer than it says', `${sized('4')}hello\r\n${sized('0')}\r\n`, 'goes on after'],
    ['a chunk that is shorter than it says', `${sized('ff')}hello\r\n${sized('0')}\r\n`, 'an end before'],
    ['no last chunk', `${sized('5')}hello\r\n`, 'an end before'],
    ['no end', sized('0'), 'an end before'],
    ['more after its end', `${sized('0')}\r\nGET / HTTP/1.1`, 'bytes after'],
    ['a trailer that is no field', `${sized('0')}nonsense\r\n\r\n`, 'without a name'],
  ])('that has %s is refused with the reason', (_what, body, words) => {
    expect(() => signedAnew(PLAIN, Buffer.from(body, 'latin1'))).toThrow(words)
  })
})
