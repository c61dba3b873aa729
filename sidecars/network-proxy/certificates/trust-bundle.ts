/** The files of authorities that children trust while HTTPS is inspected. */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { javaKeystore } from './java-keystore.ts'
import { toPem } from './pem.ts'

/** Where the bundle is, once for each kind of reader. */
export interface BundleFiles {
  pem: string
  /** For Java. */
  keystore: string
  /** For builds of wget that read no variable but this file's. */
  wgetrc: string
}

/** Each certificate once, in the order given. */
export function uniqueCertificates(certificates: readonly Buffer[]): Buffer[] {
  return [...new Map(certificates.map((der) => [der.toString('base64'), der])).values()]
}

/** A PEM text of certificates and nothing else. */
export function bundleText(certificates: readonly Buffer[]): string {
  return uniqueCertificates(certificates)
    .map((der) => toPem('CERTIFICATE', der))
    .join('')
}

/**
 * Writes the certificates below `directory` (made 0700) as 0600 files, each whole or not at all. Names are
 * always the same, so that processes that outlive a proxy find the authority of the next one. Rejects with
 * the operating system's error.
 */
export async function writeBundle(directory: string, certificates: readonly Buffer[]): Promise<BundleFiles> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const files = bundleFiles(directory)
  await Promise.all([
    writeWhole(files.pem, bundleText(certificates)),
    writeWhole(files.keystore, javaKeystore(uniqueCertificates(certificates), Date.now())),
    writeWhole(files.wgetrc, `${await ownWgetrc()}\nca_certificate = ${files.pem}\n`),
  ])
  return files
}

export async function removeBundle(files: BundleFiles): Promise<void> {
  await Promise.all(Object.values(files).map((path: string) => rm(path, { force: true })))
}

function bundleFiles(directory: string): BundleFiles {
  return {
    pem: join(directory, 'trust-bundle.pem'),
    keystore: join(directory, 'trust-bundle.jks'),
    wgetrc: join(directory, 'wgetrc'),
  }
}

/** The variable replaces the owner's file, so its settings have to be in ours. */
function ownWgetrc(): Promise<string> {
  return readFile(join(homedir(), '.wgetrc'), 'utf8').catch(() => '')
}

async function writeWhole(path: string, contents: string | Buffer): Promise<void> {
  const unfinished = `${path}.${process.pid}`
  await rm(unfinished, { force: true })
  const file = await open(unfinished, 'wx', 0o600)
  try {
    await file.writeFile(contents)
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
}
