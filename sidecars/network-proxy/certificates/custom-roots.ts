/** Authorities that the owner's environment names, such as those of a company: they go on being trusted. */
import { constants } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { CA_DIRECTORY_VARIABLE, CA_FILE_VARIABLES } from '../../protocol/network-variables.ts'
import { certificatesIn } from './pem.ts'

export const MAX_BUNDLE_BYTES = 4 * 1024 * 1024
export const MAX_DIRECTORY_ENTRIES = 256

export interface CustomRoots {
  /** DER, in the order found, the same one possibly more than once. */
  certificates: Buffer[]
  /** Files that could not be used, one sentence each. */
  warnings: string[]
}

/** Reads every file and folder that `environment` names. Only certificates are taken. */
export async function customRoots(environment: Record<string, string | undefined>): Promise<CustomRoots> {
  const found: CustomRoots = { certificates: [], warnings: [] }
  const files = new Map<string, string>()
  for (const name of CA_FILE_VARIABLES) {
    const path = environment[name]
    if (path) files.set(path, name)
  }
  for (const [path, name] of files) await addFile(found, path, name)
  for (const directory of (environment[CA_DIRECTORY_VARIABLE] ?? '').split(':'))
    if (directory !== '') await addDirectory(found, directory)
  return found
}

async function addFile(found: CustomRoots, path: string, name: string): Promise<void> {
  try {
    found.certificates.push(...certificatesIn(await readRegularFile(path)))
  } catch (error) {
    found.warnings.push(`${name}=${path} is not in the trust bundle: ${(error as Error).message}`)
  }
}

async function addDirectory(found: CustomRoots, directory: string): Promise<void> {
  try {
    const names = (await readdir(directory)).sort()
    if (names.length > MAX_DIRECTORY_ENTRIES)
      found.warnings.push(
        `${CA_DIRECTORY_VARIABLE}=${directory} has ${names.length} entries, the first ${MAX_DIRECTORY_ENTRIES} are used`,
      )
    // Folders of certificates also hold keys, scripts and dead links.
    const texts = await Promise.all(
      names.slice(0, MAX_DIRECTORY_ENTRIES).map((name) => readRegularFile(join(directory, name)).catch(() => '')),
    )
    for (const text of texts) found.certificates.push(...certificatesIn(text))
  } catch (error) {
    found.warnings.push(`${CA_DIRECTORY_VARIABLE}=${directory} is not in the trust bundle: ${(error as Error).message}`)
  }
}

/** Links are resolved once, before; what is opened is no link, no pipe and not too large. */
async function readRegularFile(path: string): Promise<string> {
  const file = await open(
    await realpath(path),
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  )
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new Error('it is not a regular file')
    if (stats.size > MAX_BUNDLE_BYTES) throw new Error(`it is larger than ${MAX_BUNDLE_BYTES} bytes`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}
