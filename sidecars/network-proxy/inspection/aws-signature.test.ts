import { describe, expect, it } from 'vitest'
import { Fields } from '../http/fields.ts'
import { readAwsClaim, signAgain, type AwsCredentials, type SignableRequest } from './aws-signature.ts'

function request(method: string, path: string, host: string, lines: Record<string, string>): SignableRequest {
  const fields = new Fields()
  for (const [name, value] of Object.entries(lines)) fields.add(name, value)
  return { method, path, host, fields }
}

/** As a client would sign it that has nothing but a placeholder. */
const signedBy = (scope: string, names: string) =>
  `AWS4-HMAC-SHA256 Credential=AKPLACEHOLDER/${scope}/aws4_request, SignedHeaders=${names}, Signature=${'0'.repeat(64)}`

// The suite of signing examples that AWS publishes.
const SUITE: AwsCredentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
}
// The examples in the S3 manual.
const S3: AwsCredentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
}
const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const BUCKET = 'examplebucket.s3.amazonaws.com'

describe('a request that was signed with a placeholder', () => {
  it.each([
    ['/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['/?Param2=value2&Param1=value1', 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500'],
  ])('%s is signed as the published example says', (path, signature) => {
    const asked = request('GET', path, 'example.amazonaws.com', {
      'X-Amz-Date': '20150830T123600Z',
      Authorization: signedBy('20150830/us-east-1/service', 'host;x-amz-date'),
    })
    expect(signAgain(asked, readAwsClaim(asked)!, SUITE, Buffer.alloc(0))).toEqual({ path, signature })
    expect(asked.fields.get('authorization')).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    )
  })

  it.each([
    [
      'GET',
      '/test.txt',
      { Range: 'bytes=0-9', 'X-Amz-Content-Sha256': EMPTY_HASH },
      'host;range;x-amz-content-sha256;x-amz-date',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'PUT',
      '/test%24file.text',
      {
        Date: 'Fri, 24 May 2013 00:00:00 GMT',
        'X-Amz-Storage-Class': 'REDUCED_REDUNDANCY',
        'X-Amz-Content-Sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
      },
      'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
  ])('for S3: %s %s', (method, path, lines, names, signature) => {
    const asked = request(method, path, BUCKET, {
      ...lines,
      'X-Amz-Date': '20130524T000000Z',
      Authorization: signedBy('20130524/us-east-1/s3', names),
    })
    signAgain(asked, readAwsClaim(asked)!, S3, undefined)
    expect(asked.fields.get('authorization')).toContain(`SignedHeaders=${names}, Signature=${signature}`)
  })

  it('as a presigned URL is signed in the URL', () => {
    const query = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKPLACEHOLDER%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=00`
    const asked = request('GET', `/test.txt?${query}`, BUCKET, {})
    const { path } = signAgain(asked, readAwsClaim(asked)!, S3, undefined)
    expect(path).toContain('X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&')
    expect(path).toMatch(/&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404$/)
  })

  it('gets the session token of the credentials, signed, and loses its own', () => {
    const asked = request('GET', '/', 'example.amazonaws.com', {
      'X-Amz-Date': '20150830T123600Z',
      'X-Amz-Security-Token': 'of the client',
      Authorization: signedBy('20150830/us-east-1/service', 'host;x-amz-date;x-amz-security-token'),
    })
    signAgain(asked, readAwsClaim(asked)!, { ...SUITE, sessionToken: 'token-1' }, Buffer.alloc(0))
    expect(asked.fields.count('x-amz-security-token')).toBe(1)
    expect(asked.fields.get('x-amz-security-token')).toBe('token-1')
    expect(asked.fields.get('authorization')).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token,')
    const without = request('GET', '/', 'example.amazonaws.com', {
      'X-Amz-Date': '20150830T123600Z',
      'X-Amz-Security-Token': 'of the client',
      Authorization: signedBy('20150830/us-east-1/service', 'host;x-amz-date;x-amz-security-token'),
    })
    signAgain(without, readAwsClaim(without)!, SUITE, Buffer.alloc(0))
    expect(without.fields.has('x-amz-security-token')).toBe(false)
    expect(without.fields.get('authorization')).toContain(
      'SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    )
  })

  it('the hash of a body that was changed on the way is written anew', () => {
    const asked = request('POST', '/', 'x.test', {
      'X-Amz-Date': '20150830T123600Z',
      'X-Amz-Content-Sha256': 'f'.repeat(64),
      Authorization: signedBy('20150830/us-east-1/s3', 'host;x-amz-content-sha256;x-amz-date'),
    })
    signAgain(asked, readAwsClaim(asked)!, S3, Buffer.alloc(0))
    expect(asked.fields.get('x-amz-content-sha256')).toBe(EMPTY_HASH)
  })
})

describe('a signature that cannot be read is refused, one that is not there is none', () => {
  it.each([
    ['no scope', 'AWS4-HMAC-SHA256 Credential=AK, SignedHeaders=host, Signature=0', '20150830T123600Z'],
    ['another day', signedBy('20150831/us-east-1/s3', 'host'), '20150830T123600Z'],
    ['no time', signedBy('20150830/us-east-1/s3', 'host'), ''],
    ['no host', signedBy('20150830/us-east-1/s3', 'x-amz-date'), '20150830T123600Z'],
  ])('%s', (_what, authorization, date) => {
    const lines = { Authorization: authorization, 'X-Amz-Date': date }
    expect(() => readAwsClaim(request('GET', '/', 'x.test', lines))).toThrow(/an AWS signature/)
  })

  it.each<Record<string, string>>([{}, { Authorization: 'Bearer x' }, { Authorization: 'AWS AK:sig' }])(
    '%j',
    (lines) => {
      expect(readAwsClaim(request('GET', '/?a=b', 'x.test', lines))).toBeUndefined()
    },
  )
})
