import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CertificateAuthority, newAuthority } from './certificate-authority.ts'
import { CrlServer } from './crl-server.ts'
import { readOwnAuthority } from './own-authority.ts'
import { certificatesIn, toPem } from './pem.ts'

const NOW_MS = Date.UTC(2026, 10, 30)
const DAY_MS = 24 * 60 * 60 * 1000
const folder = () => mkdtempSync(join(tmpdir(), 'gatehouse-ca-'))

function authority(nowMs = Date.now()): CertificateAuthority {
  return new CertificateAuthority(newAuthority(nowMs), () => nowMs)
}

function openssl(args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

const HOSTS = [
  'a.test',
  'xn--mnchen-3ya.example',
  `${'long-label.'.repeat(9)}example`,
  '127.0.0.1',
  '2001:db8::1',
  '::ffff:1.2.3.4',
]

describe('leaf certificates', () => {
  it.each(HOSTS)('P34 a strict verifier accepts the one for %s', (host) => {
    const dir = folder()
    const ca = authority()
    writeFileSync(join(dir, 'ca.pem'), ca.certificatePem)
    writeFileSync(join(dir, 'leaf.pem'), ca.leafPem(host))
    const named = host.includes(':') || /^[\d.]+$/.test(host) ? '-verify_ip' : '-verify_hostname'
    expect(
      openssl([
        'verify',
        '-x509_strict',
        '-purpose',
        'sslserver',
        named,
        host,
        '-CAfile',
        join(dir, 'ca.pem'),
        join(dir, 'leaf.pem'),
      ]),
    ).toContain('leaf.pem: OK')
  })

  it('P34 name the key that signed them, and may do nothing but serve', () => {
    const dir = folder()
    const ca = authority()
    writeFileSync(join(dir, 'leaf.pem'), ca.leafPem('a.test'))
    const text = openssl(['x509', '-noout', '-text', '-in', join(dir, 'leaf.pem')])
    for (const part of [
      'Subject Key Identifier',
      'Authority Key Identifier',
      'CA:FALSE',
      'Digital Signature',
      'TLS Web Server Authentication',
      'DNS:a.test',
    ])
      expect(text).toContain(part)
    expect(text).not.toContain('Certificate Sign')
  })

  it('live for 90 days, never beyond their authority, and differ in their serial numbers', () => {
    const ca = authority(NOW_MS)
    const leaves = Array.from({ length: 20 }, () => new X509Certificate(ca.leafPem('a.test')))
    const [leaf] = leaves
    expect(Date.parse(leaf!.validFrom)).toBe(NOW_MS - DAY_MS)
    expect(Date.parse(leaf!.validTo)).toBe(NOW_MS + 90 * DAY_MS)
    expect(new Set(leaves.map((one) => one.serialNumber)).size).toBe(20)
    for (const one of leaves) expect(one.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/)
  })

  it('are made once a host, and again when they are about to end', () => {
    let nowMs = NOW_MS
    const ca = new CertificateAuthority(newAuthority(nowMs), () => nowMs)
    const first = ca.contextFor('a.test')
    expect(ca.contextFor('a.test')).toBe(first)
    nowMs += 89 * DAY_MS + 1
    expect(ca.contextFor('a.test')).not.toBe(first)
  })

  it('the least recently used of 256 hosts gives way', () => {
    const ca = authority()
    const kept = ca.contextFor('kept.test')
    const dropped = ca.contextFor('dropped.test')
    for (let n = 0; n < 255; n++) {
      ca.contextFor(`${n}.test`)
      ca.contextFor('kept.test')
    }
    expect(ca.contextFor('kept.test')).toBe(kept)
    expect(ca.contextFor('dropped.test')).not.toBe(dropped)
  })
})

describe('the authority', () => {
  it('P34 signs certificates and revocation lists only, for a year, and has a name of its own', () => {
    const dir = folder()
    const ca = authority()
    writeFileSync(join(dir, 'ca.pem'), ca.certificatePem)
    const text = openssl(['x509', '-noout', '-text', '-in', join(dir, 'ca.pem')])
    expect(text).toContain('CA:TRUE, pathlen:0')
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
    expect(authority().certificatePem).not.toBe(ca.certificatePem)
    expect(new X509Certificate(ca.certificatePem).subject).not.toBe(
      new X509Certificate(authority().certificatePem).subject,
    )
  })

  it('P35 leaves name a list on loopback that is signed, current and empty', async () => {
    const dir = folder()
    const ca = authority()
    const server = await CrlServer.open(() => ca.revocationList())
    onTestFinished(() => server.close())
    ca.crlUrl = server.url
    writeFileSync(join(dir, 'ca.pem'), ca.certificatePem)
    writeFileSync(join(dir, 'leaf.pem'), ca.leafPem('a.test'))
    const named = /URI:(http:\/\/127\.0\.0\.1:\d+\/\S+)/.exec(
      openssl(['x509', '-noout', '-text', '-in', join(dir, 'leaf.pem')]),
    )
    const list = await new Promise<Buffer>((resolve, reject) => {
      get(named![1]!, (response) => {
        const parts: Buffer[] = []
        expect(response.headers['content-type']).toBe('application/pkix-crl')
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () => resolve(Buffer.concat(parts)))
      }).on('error', reject)
    })
    writeFileSync(join(dir, 'list.der'), list)
    writeFileSync(join(dir, 'list.pem'), toPem('X509 CRL', list))
    const text = openssl([
      'crl',
      '-inform',
      'der',
      '-in',
      join(dir, 'list.der'),
      '-noout',
      '-text',
      '-CAfile',
      join(dir, 'ca.pem'),
    ])
    expect(text).toContain('No Revoked Certificates')
    expect(
      openssl([
        'verify',
        '-x509_strict',
        '-crl_check',
        '-CAfile',
        join(dir, 'ca.pem'),
        '-CRLfile',
        join(dir, 'list.pem'),
        join(dir, 'leaf.pem'),
      ]),
    ).toContain('OK')
  })

  it('other paths than the list are not there', async () => {
    const server = await CrlServer.open(() => Buffer.alloc(0))
    onTestFinished(() => server.close())
    const status = await new Promise((resolve) =>
      get(new URL('/other', server.url), (response) => resolve(response.statusCode)),
    )
    expect(status).toBe(404)
  })
})

describe('an authority of the owner', () => {
  /** What `openssl req -x509` of a company looks like. */
  function files(
    kind: 'ec' | 'rsa',
    more = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  ): { certificateFile: string; privateKeyFile: string } {
    const dir = folder()
    const certificateFile = join(dir, 'own.pem')
    const privateKeyFile = join(dir, 'own.key')
    const key = kind === 'ec' ? ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'] : ['-newkey', 'rsa:2048']
    openssl([
      'req',
      '-x509',
      ...key,
      '-nodes',
      '-keyout',
      privateKeyFile,
      '-out',
      certificateFile,
      '-subj',
      '/O=Example Ltd/CN=Example Root',
      '-days',
      '30',
      ...more,
    ])
    execFileSync('chmod', ['600', privateKeyFile])
    return { certificateFile, privateKeyFile }
  }

  it.each(['ec', 'rsa'] as const)('with an %s key signs leaves that verify against it', (kind) => {
    const own = files(kind)
    const ca = new CertificateAuthority(readOwnAuthority(own, Date.now()), Date.now)
    const dir = folder()
    writeFileSync(join(dir, 'leaf.pem'), ca.leafPem('a.test', Date.now() + DAY_MS))
    expect(
      openssl([
        'verify',
        '-x509_strict',
        '-verify_hostname',
        'a.test',
        '-CAfile',
        own.certificateFile,
        join(dir, 'leaf.pem'),
      ]),
    ).toContain('OK')
  })

  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  it.each<[string, (own: ReturnType<typeof files>) => Partial<ReturnType<typeof files>>, RegExp]>([
    [
      'a key that others can read',
      (own) => (execFileSync('chmod', ['640', own.privateKeyFile]), {}),
      /private_key_file: others can read .*chmod 600/,
    ],
    [
      'a key behind a link',
      (own) => (
        symlinkSync(own.privateKeyFile, `${own.privateKeyFile}.link`),
        { privateKeyFile: `${own.privateKeyFile}.link` }
      ),
      /private_key_file: .*links are not followed/,
    ],
    [
      'a key of another certificate',
      (own) => (writeFileSync(own.privateKeyFile, other), {}),
      /private_key_file: is not the key/,
    ],
    ['no key', (own) => (writeFileSync(own.privateKeyFile, 'x'), {}), /private_key_file: holds no private key/],
    [
      'no certificate',
      (own) => (writeFileSync(own.certificateFile, 'x'), {}),
      /certificate_file: holds no certificate/,
    ],
    ['a file that is not there', () => ({ certificateFile: '/nowhere/ca.pem' }), /certificate_file: .*ENOENT/],
    ['a relative path', () => ({ certificateFile: 'ca.pem' }), /certificate_file: expected an absolute path/],
  ])('%s is refused', (_what, change, message) => {
    const own = files('ec')
    const changed = { ...own, ...change(own) }
    expect(() => readOwnAuthority(changed, Date.now())).toThrow(message)
  })

  it('one that is no authority, or expired, is refused', () => {
    const server = files('ec', ['-addext', 'basicConstraints=critical,CA:FALSE'])
    expect(() => readOwnAuthority(server, Date.now())).toThrow(/not a certificate authority/)
    expect(() => readOwnAuthority(files('ec'), Date.now() + 31 * DAY_MS)).toThrow(/expired/)
  })
})

describe('PEM texts', () => {
  it('give their certificates and nothing else', () => {
    const { certificatePem } = authority()
    const text = `# corp\n${other()}\n${certificatePem}junk\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`
    expect(certificatesIn(text).map((der) => toPem('CERTIFICATE', der))).toEqual([certificatePem])
  })

  it("OpenSSL's trusted certificates lose their trust settings", () => {
    const dir = folder()
    const { certificatePem } = authority()
    writeFileSync(join(dir, 'ca.pem'), certificatePem)
    const trusted = openssl(['x509', '-in', join(dir, 'ca.pem'), '-trustout', '-addtrust', 'serverAuth'])
    expect(trusted).toContain('BEGIN TRUSTED CERTIFICATE')
    expect(certificatesIn(trusted).map((der) => toPem('CERTIFICATE', der))).toEqual([certificatePem])
  })

  function other(): string {
    return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }) as string
  }
})
