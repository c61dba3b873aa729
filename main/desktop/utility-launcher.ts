import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { app, utilityProcess, type Details, type MessagePortMain, type UtilityProcess } from 'electron'
import type { SidecarName } from '../../sidecars/protocol/host-channel.ts'
import { PortTransport, utilityProcessCarrier } from '../../sidecars/rpc/port-transport.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { Launcher, LaunchOptions, SidecarChild, SidecarExit } from '../supervisor/launcher.ts'

/**
 * A utility process that a signal ended reports a random mix of 0 and the signal's number as its exit
 * code; the truth arrives as `child-process-gone`, up to a few milliseconds after `exit`.
 */
const TRUTH_WAIT_MS = 100

/** Starts sidecars as utility processes of the app. They end with it, whatever way it ends. */
export class UtilityLauncher implements Launcher {
  private readonly running = new Map<SidecarName, UtilityProcess>()

  /** `folder` holds one bundle for each sidecar. */
  constructor(private readonly folder: string) {}

  async launch(name: SidecarName, { generation, env }: LaunchOptions): Promise<SidecarChild> {
    const file = join(this.folder, `${name}.cjs`)
    if (!existsSync(file)) throw new Error(`${file} is missing; reinstall Gatehouse, or run "npm run build"`)
    // The one key that `child-process-gone` gives back, hence the generation in it.
    const serviceName = `gatehouse ${name} ${generation}`
    const child = utilityProcess.fork(file, [], { serviceName, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const transport = new PortTransport(`${name} channel`, utilityProcessCarrier(child))
    const exited = exitOf(child, serviceName)
    const pid = await pidOf(child, exited)
    this.running.set(name, child)
    void exited.then(() => {
      if (this.running.get(name) === child) this.running.delete(name)
    })
    return {
      pid,
      transport,
      exited,
      onStderr: (listener) => {
        child.stdout?.on('data', listener)
        child.stderr?.on('data', listener)
      },
      kill: (signal) => kill(child, pid, signal),
    }
  }

  /** Hands a port to a running sidecar. Throws `unavailable` while it is down. */
  postPort(name: SidecarName, message: unknown, port: MessagePortMain): void {
    const child = this.running.get(name)
    if (!child) throw new RpcError('unavailable', `the ${name} is not running at the moment`)
    child.postMessage(message, [port])
  }
}

function pidOf(child: UtilityProcess, exited: Promise<SidecarExit>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => {
      if (child.pid === undefined) reject(new Error('the process ended while it started'))
      else resolve(child.pid)
    })
    void exited.then(({ reason }) => reject(new Error(`the process did not start: it ${reason}`)))
  })
}

function exitOf(child: UtilityProcess, serviceName: string): Promise<SidecarExit> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    const settle = (exit: SidecarExit) => {
      clearTimeout(timer)
      app.off('child-process-gone', onGone)
      resolve(exit)
    }
    const onGone = (_event: unknown, details: Details) => {
      if (details.name === serviceName || details.serviceName === serviceName) settle(goneExit(details))
    }
    app.on('child-process-gone', onGone)
    child.once('exit', (code) => {
      timer = setTimeout(() => settle({ code, signal: null, reason: `exited with code ${code}` }), TRUTH_WAIT_MS)
    })
  })
}

function goneExit({ reason, exitCode }: Details): SidecarExit {
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode)?.[0]
  if ((reason === 'killed' || reason === 'crashed') && signal)
    return { code: null, signal, reason: `${reason === 'killed' ? 'was killed' : 'crashed'} by ${signal}` }
  if (reason === 'clean-exit') return { code: exitCode, signal: null, reason: `exited with code ${exitCode}` }
  return { code: exitCode, signal: null, reason: `ended: ${reason}, code ${exitCode}` }
}

function kill(child: UtilityProcess, pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  // Gone already: `pid` may belong to somebody else by now.
  if (child.pid === undefined) return
  if (signal === 'SIGTERM') {
    child.kill()
    return
  }
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended between the check and the signal.
  }
}
