import { createHash } from 'node:crypto'
import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { MAX_SOCKET_PATH_BYTES } from '../../sidecars/rpc/unix-socket.ts'

/** The data folder cannot be used; `message` names it, the problem and the next step. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError'
}

export interface HostFolders {
  /** Settings, rules, audit, spool. Mode 0700. */
  dataDir: string
  /** `host.json` and `host.lock`: always below the data folder, so that a client finds them. */
  lockDir: string
  /** Sockets and the ledger: below the data folder, or a short folder of our own when that path is too long. */
  runDir: string
}

/** Longest name of a socket of ours below `runDir`. */
const LONGEST_SOCKET_NAME = 'control.sock'

/**
 * `GATEHOUSE_HOME`, or `~/.gatehouse`. A relative path would be another folder in every terminal.
 * @throws DataFolderError
 */
export function dataFolderPath(env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  const { GATEHOUSE_HOME } = env
  if (!GATEHOUSE_HOME && !isAbsolute(home))
    throw new DataFolderError(
      `HOME: expected an absolute path, got ${JSON.stringify(home)}. Set it, or GATEHOUSE_HOME to a folder of your own`,
    )
  if (GATEHOUSE_HOME && !isAbsolute(GATEHOUSE_HOME))
    throw new DataFolderError(`GATEHOUSE_HOME: expected an absolute path, got ${JSON.stringify(GATEHOUSE_HOME)}`)
  return GATEHOUSE_HOME ? resolve(GATEHOUSE_HOME) : join(home, '.gatehouse')
}

/** Where everything lies, without touching the disk. */
export function hostFolders(dataDir = dataFolderPath()): HostFolders {
  const lockDir = join(dataDir, 'run')
  const isTooLong = Buffer.byteLength(join(lockDir, LONGEST_SOCKET_NAME)) > MAX_SOCKET_PATH_BYTES
  return { dataDir, lockDir, runDir: isTooLong ? shortRunDir(dataDir) : lockDir }
}

/**
 * Makes the folders with mode 0700 and checks that they are ours alone and can be written.
 * @throws DataFolderError
 */
export function prepareHostFolders(dataDir = dataFolderPath()): HostFolders {
  const folders = hostFolders(dataDir)
  for (const folder of [folders.dataDir, folders.lockDir, folders.runDir]) preparePrivateFolder(folder)
  return folders
}

/** Depends only on the data folder and the user, so that the next start finds the ledger again. */
function shortRunDir(dataDir: string): string {
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  return join(tmpdir(), `gatehouse-${process.getuid?.() ?? 0}-${hash}`)
}

function preparePrivateFolder(folder: string): void {
  const next = 'Set GATEHOUSE_HOME to a folder of your own, or correct its permissions'
  try {
    makeFolder(folder)
  } catch (error) {
    throw new DataFolderError(`${folder} cannot be created: ${(error as Error).message}. ${next}`, { cause: error })
  }
  const found = statSync(folder, { throwIfNoEntry: false })
  if (!found) throw new DataFolderError(`${folder} is a symbolic link that leads nowhere. ${next}`)
  if (!found.isDirectory()) throw new DataFolderError(`${folder} is not a folder. ${next}`)
  if (process.getuid && found.uid !== process.getuid())
    throw new DataFolderError(`${folder} belongs to another user (uid ${found.uid}). ${next}`)
  try {
    // Ours by name and owner, so closing it to others is not a surprise.
    if ((found.mode & 0o077) !== 0) chmodSync(folder, 0o700)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new DataFolderError(`${folder} cannot be written: ${(error as Error).message}. ${next}`, { cause: error })
  }
}

/**
 * Makes a folder and its missing parents. Not `recursive: true`: Node 20 and older loop for ever where
 * mkdir answers ENOENT below an existing folder, as /proc does.
 */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || existsSync(dirname(folder))) throw error
    makeFolder(dirname(folder))
    mkdirSync(folder, { mode: 0o700 })
  }
}
