import { spawn } from 'node:child_process'
import { findProgram } from '../processes/program-path.ts'
import { withoutMasters } from '../streams/terminal-masters.ts'
import { Finding } from './finding.ts'
import { unavailable } from './sandbox.ts'

/** How long the try-out may take; a healthy one takes some 10 ms. */
const PROBE_TIMEOUT_MS = 10_000
const INSTALL = 'install it with: sudo apt-get install bubblewrap'
/** What bwrap says when the kernel or a security module keeps namespaces from this account. */
const NO_NAMESPACES = /namespace|uid map|setgroups|unshare|clone/i

/** A bwrap that was seen to work. */
export interface Bubblewrap {
  path: string
}

/** Finds out once whether sandboxes can be made on this machine. */
export class BubblewrapProbe {
  private readonly finding = new Finding<Bubblewrap>()

  constructor(
    /** PATH of the server: a command's own must not choose what confines it. */
    private readonly searchPath: () => string | undefined,
    private readonly timeoutMs = PROBE_TIMEOUT_MS,
  ) {}

  /** @throws WireError `sandboxUnavailable`, naming what is missing and what to do */
  require(): Promise<Bubblewrap> {
    return this.finding.get(() => this.probe())
  }

  private async probe(): Promise<Bubblewrap> {
    const found = findProgram('bwrap', '/', this.searchPath())
    if (!('path' in found)) throw unavailable(`bubblewrap (bwrap) was not found on the server's PATH; ${INSTALL}`)
    const { path } = found
    const { outcome, said } = await tryOut(path, this.timeoutMs)
    if (outcome === 'works') return { path }
    throw unavailable(`${path} cannot make a sandbox here: ${reason(outcome, said, this.timeoutMs)}`)
  }
}

type Outcome = 'works' | 'hangs' | 'fails'

/** With all kinds of walls that a command may need. */
function tryOut(path: string, timeoutMs: number): Promise<{ outcome: Outcome; said: string }> {
  const walls = [
    '--die-with-parent',
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-net',
  ]
  const files = ['--cap-drop', 'ALL', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--perms', '0000']
  return new Promise((resolve) => {
    const child = spawn(path, [...walls, ...files, '--tmpfs', '/tmp', '--', '/bin/true'], {
      env: {},
      stdio: withoutMasters(['ignore', 'ignore', 'pipe']),
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    let said = ''
    child.stderr.on('data', (bytes) => (said += String(bytes)))
    child.once('error', (error) => resolve({ outcome: 'fails', said: error.message }))
    child.once('exit', (code, signal) =>
      // What it said last may still be on its way; a helper of its own may keep the pipe open for ever.
      setTimeout(
        () => {
          child.stderr.destroy()
          resolve({ outcome: code === 0 ? 'works' : signal === 'SIGKILL' ? 'hangs' : 'fails', said })
        },
        code === 0 ? 0 : 50,
      ),
    )
  })
}

function reason(outcome: Outcome, said: string, timeoutMs: number): string {
  if (outcome === 'hangs') return `it did not answer within ${timeoutMs / 1000} s; ${INSTALL}`
  const words = said.trim().split('\n').at(-1) ?? ''
  if (NO_NAMESPACES.test(words))
    return `${words}; the kernel does not let this account make namespaces: see sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns`
  return `${words === '' ? 'it failed without a word' : words}; if it is broken, ${INSTALL}`
}
