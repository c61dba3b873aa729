import { join } from 'node:path'
import { createHost, type Host, type HostOptions } from '../host.ts'
import { NodeLauncher } from '../supervisor/node-launcher.ts'

/** For tests: a host in this process with the real sidecars, as they were built to out/. Not started. */
export function builtHost(dataDir: string, timing: HostOptions['timing'] = {}): Promise<Host> {
  return createHost({
    dataDir,
    runDir: join(dataDir, 'run'),
    version: '0.1.0',
    program: '/opt/gatehouse/bin/gatehouse',
    launcher: new NodeLauncher(join(import.meta.dirname, '../../out/sidecars')),
    log: () => {},
    timing,
  })
}
