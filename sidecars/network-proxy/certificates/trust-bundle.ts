/** The file of authorities that children trust while HTTPS is inspected. */
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { toPem } from './pem.ts'

const FILE_NAME = 'trust-bundle.pem'

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
 * Writes `text` below `directory` (made 0700) as a 0600 file, whole or not at all. The name is always the
 * same, so that processes that outlive a proxy find the authority of the next one. Resolves with its path.
 * Rejects with the operating system's error.
 */
export async function writeBundle(directory: string, text: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, FILE_NAME)
  const unfinished = `${path}.${process.pid}`
  await rm(unfinished, { force: true })
  const file = await open(unfinished, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
  return path
}
