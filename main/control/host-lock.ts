import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { LockHeld, takeProcessLock, type ProcessLock } from '../../sidecars/rpc/process-lock.ts'
import { describeDiskTrouble } from '../storage/disk-trouble.ts'
import { fileStamp } from '../storage/keep-aside.ts'
import { DataFolderError } from './data-folder.ts'

/** Another host works on this data folder. */
export class HostRunningError extends Error {
  override readonly name = 'HostRunningError'
  constructor(
    path: string,
    readonly pid: number,
  ) {
    super(`Gatehouse is running already with this data folder (process ${pid}, lock ${path}); use it, or stop it first`)
  }
}

export type HostLock = ProcessLock

/**
 * Takes the data folder for this process. A corrupt lock is kept aside; `onProblem` hears about it.
 * @throws HostRunningError, or DataFolderError when the disk refuses
 */
export async function acquireHostLock(lockDir: string, onProblem: (message: string) => void): Promise<HostLock> {
  const path = join(lockDir, 'host.lock')
  try {
    return await takeProcessLock(path, (problem) => {
      const aside = `${path}.corrupt-${fileStamp(Date.now())}`
      renameSync(path, aside)
      onProblem(`${path}: ${problem}; kept as ${aside}`)
    })
  } catch (error) {
    if (error instanceof LockHeld) throw new HostRunningError(path, error.pid)
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    throw new DataFolderError(`${path} cannot be written: ${await describeDiskTrouble(error, path)}`, { cause: error })
  }
}
