import { join } from 'node:path'
import { app } from 'electron'
import { GATEHOUSE_VERSION } from '../../sidecars/protocol/version.ts'
import { HostRunningError } from '../control/host-lock.ts'
import { openHost, type OpenHost } from '../control/open-host.ts'
import { createHost, type Host } from '../host.ts'
import type { Launcher } from '../supervisor/launcher.ts'
import { TakeOver } from './take-over.ts'

export interface StartHostOptions {
  launcher: Launcher
  /** The host exists and holds the data folder; its sidecars start next. */
  created(host: Host): void
}

/**
 * Opens the app's host. When a host without a window has the data folder, asks it (and where agents work
 * with it, the owner) to make room. Undefined when the owner leaves it at that.
 * @throws DataFolderError, SocketPathError or what the host says
 */
export async function startHost({ launcher, created }: StartHostOptions): Promise<OpenHost<Host> | undefined> {
  const takeOver = new TakeOver()
  // Packed, the command line stands beside the archive; `scripts/package.mjs` puts it there.
  const program = app.isPackaged
    ? join(process.resourcesPath, 'command-line/bin/gatehouse')
    : join(__dirname, '../../bin/gatehouse')
  for (;;)
    try {
      return await openHost({
        kind: 'app',
        log: (message) => console.error(message),
        requestStop: () => app.quit(),
        create: async ({ dataDir, runDir }) => {
          const host = await createHost({ dataDir, runDir, version: GATEHOUSE_VERSION, launcher, program })
          created(host)
          return host
        },
      })
    } catch (error) {
      if (!(error instanceof HostRunningError)) throw error
      if (!(await takeOver.attempt(error))) return undefined
    }
}
