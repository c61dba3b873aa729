import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SidecarName } from '../../sidecars/protocol/host-channel.ts'
import { HOST_CHANNEL_FLAG } from '../../sidecars/rpc/host-channel-stdio.ts'
import { LinesTransport } from '../../sidecars/rpc/lines-transport.ts'
import type { Launcher, LaunchOptions, SidecarChild, SidecarExit } from './launcher.ts'

/** Starts sidecars as plain Node children of a headless host. */
export class NodeLauncher implements Launcher {
  /** `sidecarsDir` holds the built entries, `exec-server.cjs` and so on. */
  constructor(private readonly sidecarsDir: string) {}

  async launch(name: SidecarName, options: LaunchOptions): Promise<SidecarChild> {
    const entry = join(this.sidecarsDir, `${name}.cjs`)
    if (!existsSync(entry)) throw new Error(`${entry} is missing; run: npm run build`)
    return launchNodeSidecar(name, entry, options)
  }
}

/**
 * Runs one built sidecar entry with its channel on stdio, as leader of a process group and session of
 * its own: Ctrl-C in the host's terminal does not reach it, and a signal to the group reaches all of it.
 */
export async function launchNodeSidecar(name: string, entry: string, options: LaunchOptions): Promise<SidecarChild> {
  const child = spawn(process.execPath, [entry, HOST_CHANNEL_FLAG], {
    cwd: '/',
    env: options.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const exited = new Promise<SidecarExit>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal, reason: describeExit(code, signal) })),
  )
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(new Error(`${process.execPath} cannot be started: ${error.message}`)))
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${entry} has no process id`)
  // Later errors concern signals that could not be delivered; `exited` tells what matters.
  child.on('error', () => {})
  let isGone = false
  void exited.then(() => (isGone = true))
  return {
    pid,
    transport: new LinesTransport(`${name} channel`, child.stdout, child.stdin),
    exited,
    onStderr: (listener) => void child.stderr.on('data', listener),
    kill: (signal) => {
      if (isGone) return
      try {
        process.kill(-pid, signal)
      } catch {
        // ESRCH: it ended between two looks.
      }
    },
  }
}

/** "exited with code 1", "was ended by SIGKILL". */
export function describeExit(code: number | null, signal: string | null): string {
  return signal === null ? `exited with code ${String(code)}` : `was ended by ${signal}`
}
