/** The authorities that the operating system trusts. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import * as tls from 'node:tls'
import { certificatesIn } from './pem.ts'

/** Certificates in DER. */
export type PlatformRoots = () => Promise<Buffer[]>

const LIMIT_MS = 10_000
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

/** Debian and Alpine, Red Hat, SUSE, BSD and macOS: the first that is there. */
const BUNDLE_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]
const MAC_KEYCHAINS = [
  '/System/Library/Keychains/SystemRootCertificates.keychain',
  '/Library/Keychains/System.keychain',
]
const WINDOWS_ROOTS =
  'Get-ChildItem Cert:\\LocalMachine\\Root,Cert:\\CurrentUser\\Root | ForEach-Object { ' +
  '"-----BEGIN CERTIFICATE-----"; [Convert]::ToBase64String($_.RawData); "-----END CERTIFICATE-----" }'

/** Reads the platform's store; what cannot be read is left out, because built-in roots exist as well. */
export const platformRoots: PlatformRoots = async () => certificatesIn(await platformPem())

async function platformPem(): Promise<string> {
  // From Node 22.15 on the runtime reads the store itself.
  const { getCACertificates } = tls as { getCACertificates?: (type: 'system') => string[] }
  if (getCACertificates) return getCACertificates('system').join('\n')
  if (process.platform === 'darwin') return output('security', ['find-certificate', '-a', '-p', ...MAC_KEYCHAINS])
  if (process.platform === 'win32') return output('powershell', ['-NoProfile', '-Command', WINDOWS_ROOTS])
  for (const path of BUNDLE_FILES) {
    const text = await readFile(path, 'utf8').catch(() => '')
    if (text !== '') return text
  }
  return ''
}

function output(program: string, args: string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: LIMIT_MS, maxBuffer: MAX_OUTPUT_BYTES }, (_error, stdout) => resolve(stdout))
  })
}
