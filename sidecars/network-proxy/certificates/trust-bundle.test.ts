import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newAuthority } from './certificate-authority.ts'
import { customRoots, MAX_BUNDLE_BYTES, MAX_DIRECTORY_ENTRIES } from './custom-roots.ts'
import { certificatesIn, toPem } from './pem.ts'
import { platformRoots } from './platform-roots.ts'
import { bundleText, writeBundle } from './trust-bundle.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'gatehouse-bundle-'))
const certificate = () => newAuthority(Date.now()).certificate
const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
})

describe('authorities of the environment', () => {
  it('P37 a company file gives its certificates, never the key beside them', async () => {
    const dir = folder()
    const corp = certificate()
    const file = join(dir, 'corp.pem')
    writeFileSync(file, `${privateKey}${toPem('CERTIFICATE', corp)}`)
    const { certificates, warnings } = await customRoots({ SSL_CERT_FILE: file, REQUESTS_CA_BUNDLE: file })
    expect([certificates, warnings]).toEqual([[corp], []])
    expect(bundleText([...certificates, corp])).toBe(toPem('CERTIFICATE', corp))
  })

  it('P37 folders are read up to 256 entries; keys and dead links in them do no harm', async () => {
    const dir = folder()
    const corp = certificate()
    writeFileSync(join(dir, 'a.pem'), toPem('CERTIFICATE', corp))
    writeFileSync(join(dir, 'b.key'), privateKey)
    symlinkSync(join(dir, 'nowhere'), join(dir, 'c.pem'))
    mkdirSync(join(dir, 'd'))
    expect((await customRoots({ SSL_CERT_DIR: dir })).certificates).toEqual([corp])
    for (let n = 0; n < MAX_DIRECTORY_ENTRIES; n++) writeFileSync(join(dir, `e${n}`), '')
    expect((await customRoots({ SSL_CERT_DIR: dir })).warnings[0]).toMatch(
      /SSL_CERT_DIR=.* has 260 entries, the first 256 are used/,
    )
  })

  it.each([
    ['too large', (path: string) => writeFileSync(path, Buffer.alloc(MAX_BUNDLE_BYTES + 1)), /larger than 4194304/],
    ['a folder', (path: string) => mkdirSync(path), /not a regular file|EISDIR/],
    ['not there', () => {}, /ENOENT/],
  ])('P37 a file that is %s is left out with a warning', async (_what, make, message) => {
    const path = join(folder(), 'file')
    make(path)
    const { certificates, warnings } = await customRoots({ NODE_EXTRA_CA_CERTS: path })
    expect(certificates).toEqual([])
    expect(warnings[0]).toMatch(message)
    expect(warnings[0]).toMatch(/^NODE_EXTRA_CA_CERTS=/)
  })
})

describe('the bundle', () => {
  it('is a private file that is replaced whole', async () => {
    const dir = join(folder(), 'certificates')
    const first = certificate()
    const second = certificate()
    const { pem: path } = await writeBundle(dir, [first, second, first])
    expect(readFileSync(path, 'utf8')).toBe(toPem('CERTIFICATE', first) + toPem('CERTIFICATE', second))
    expect([statSync(path).mode & 0o777, statSync(dir).mode & 0o777]).toEqual([0o600, 0o700])
    expect(await writeBundle(dir, [second])).toMatchObject({ pem: path })
    expect(readFileSync(path, 'utf8')).toBe(toPem('CERTIFICATE', second))
    expect(readdirSync(dir).sort()).toEqual(['trust-bundle.jks', 'trust-bundle.pem', 'wgetrc'])
  })

  it('the platform store of this machine can be read', async () => {
    const roots = await platformRoots()
    const texts = new Set(roots.map((der) => toPem('CERTIFICATE', der)))
    expect(certificatesIn([...texts].join(''))).toHaveLength(texts.size)
  })
})
