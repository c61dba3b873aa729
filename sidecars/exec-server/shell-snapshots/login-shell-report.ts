import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { ChildSpec } from '../processes/child.ts'
import { withoutMasters } from '../streams/terminal-masters.ts'
import type { ShellReport } from './shell-snapshot.ts'

/** A startup file that waits for an answer or never ends costs a command no more than this, once. */
const REPORT_TIMEOUT_MS = 10_000
const MAX_REPORT_BYTES = 4 * 1024 * 1024

/** Each part is preceded by a line that no startup file can know. $1: that line, $2: the program `env`. */
const REPORT_SCRIPT = `
builtin printf '\\n%s\\n' "$1"; builtin shopt -p
builtin printf '\\n%s\\n' "$1"; builtin declare -f; builtin declare -Fx
builtin printf '\\n%s\\n' "$1"; builtin alias -p
builtin printf '\\n%s\\n' "$1"; builtin umask -p; builtin set +o
builtin printf '\\n%s\\n' "$1"; builtin printf %s "$PWD"
builtin printf '\\n%s\\n' "$1"; builtin exec "$2" -0
`

export interface ReportOptions {
  /** The shell is bash. */
  shell: string
  /** Program that prints the environment. */
  envProgram: string
  /** Where and with which environment the shell starts. */
  at: Pick<ChildSpec, 'cwd' | 'environment'>
  /** Told of the shell's process group; what it returns is called when the group has ended. */
  watchGroup: (pid: number) => () => void
}

/** Runs a login shell and asks what became of it. Undefined when it fails, says too much or takes too long. */
export async function reportOfLoginShell(options: ReportOptions): Promise<ShellReport | undefined> {
  const { shell, envProgram, at } = options
  const mark = `gatehouse-${randomBytes(16).toString('hex')}`
  const child = spawn(shell, ['-lc', REPORT_SCRIPT, shell, mark, envProgram], {
    cwd: at.cwd,
    env: at.environment,
    detached: true,
    stdio: withoutMasters(['ignore', 'pipe', 'ignore']),
  })
  const unwatch = child.pid === undefined ? () => {} : options.watchGroup(child.pid)
  try {
    return readReport(await outputOf(child), mark)
  } finally {
    killGroup(child)
    unwatch()
  }
}

/** Undefined unless the shell itself ended well, in time. */
function outputOf(child: ChildProcess): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let sizeBytes = 0
    const done = (isGood: boolean) => {
      clearTimeout(timer)
      child.stdout?.destroy()
      resolve(isGood ? Buffer.concat(chunks) : undefined)
    }
    const timer = setTimeout(() => done(false), REPORT_TIMEOUT_MS)
    child.once('error', () => done(false))
    child.stdout?.on('data', (bytes: Buffer) => {
      chunks.push(bytes)
      sizeBytes += bytes.length
      if (sizeBytes > MAX_REPORT_BYTES) done(false)
    })
    // A background process of a startup file may keep the output open for ever: the shell's own end counts,
    // and what it printed is in the pipe by then.
    child.once('exit', (code) => setImmediate(() => setImmediate(() => done(code === 0))))
  })
}

function readReport(output: Buffer | undefined, mark: string): ShellReport | undefined {
  const parts = output?.toString('utf8').split(`\n${mark}\n`)
  if (parts?.length !== 7) return undefined
  const [, options = '', functions = '', aliases = '', settings = '', cwd = '', variables = ''] = parts
  return { options, functions, aliases, settings, cwd, environment: environmentOf(variables) }
}

function environmentOf(text: string): Record<string, string> {
  const pairs = text.split('\0').filter((entry) => entry.includes('='))
  return Object.fromEntries(
    pairs.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  )
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}
