import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isSameProcess, readProcessIdentity, type ProcessIdentity } from '../../rpc/process-identity.ts'
import { integer, object, string } from '../../protocol/decode.ts'
import { MOUNT_POINTS_FILE, sweepMountPoints } from '../sandbox/mount-points.ts'
import { sweepLedger, type LedgerEntry } from './process-ledger.ts'

const OWNER_FILE = 'owner.json'
export const LEDGER_FILE = 'processes.jsonl'

const owner = object({ pid: integer(1), startedAt: string })

export interface InstanceFolder {
  /** Private, empty but for our own bookkeeping. */
  path: string
  ledgerPath: string
  /** Processes that a dead server had left behind and that were ended now. */
  swept: LedgerEntry[]
}

/** Where servers that run alone keep their folders: one parent per user, private. */
export function sharedParent(): string {
  return join(tmpdir(), `gatehouse-exec-${process.getuid?.() ?? 'user'}`)
}

/**
 * Makes the folder of this server below `parent`, for its ledger and its output on disk. Folders of
 * servers that no longer live are removed, and what they had started is ended first.
 * @throws Error naming the folder when it is not ours or cannot be made
 */
export async function openInstanceFolder(parent: string): Promise<InstanceFolder> {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  const { uid, mode } = statSync(parent)
  if (uid !== process.getuid?.())
    throw new Error(`${parent}: belongs to another user; remove it or set TMPDIR to a folder of your own`)
  if ((mode & 0o077) !== 0) chmodSync(parent, 0o700)
  const swept = await sweepDead(parent)
  const self = (await readProcessIdentity(process.pid)) ?? { pid: process.pid, startedAt: String(Date.now()) }
  const path = join(parent, `${self.pid}-${Date.now().toString(36)}`)
  mkdirSync(path, { mode: 0o700 })
  writeFileSync(join(path, OWNER_FILE), JSON.stringify(self), { mode: 0o600 })
  return { path, ledgerPath: join(path, LEDGER_FILE), swept }
}

async function sweepDead(parent: string): Promise<LedgerEntry[]> {
  const swept: LedgerEntry[] = []
  for (const name of readdirSync(parent)) {
    const path = join(parent, name)
    if (await isOwned(path)) continue
    swept.push(...sweepLedger(join(path, LEDGER_FILE)))
    sweepMountPoints(join(path, MOUNT_POINTS_FILE))
    rmSync(path, { recursive: true, force: true })
  }
  return swept
}

/** True while the server that made the folder lives, or when it was made this very moment. */
async function isOwned(path: string): Promise<boolean> {
  let identity: ProcessIdentity
  try {
    identity = owner(JSON.parse(readFileSync(join(path, OWNER_FILE), 'utf8')), OWNER_FILE)
  } catch {
    const madeAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    return Date.now() - madeAtMs < 5_000
  }
  return isSameProcess(identity)
}
