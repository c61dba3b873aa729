import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readSync, unlinkSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, parse } from 'node:path'
import { readLiveHostFile, type HostFile } from '../control/host-file.ts'

export interface DetachedHostOptions {
  /** Where host.json appears. */
  lockDir: string
  /** Program and arguments that run a host in the foreground. */
  command: readonly [string, ...string[]]
  env: NodeJS.ProcessEnv
  /** How long the host may take until agents can attach. */
  limitMs: number
  /** Nobody waits any more; a host that was started goes on. */
  signal: AbortSignal
}

const POLL_MS = 100
/** A host that ended at once may have found another one starting: that one is waited for so long. */
const OTHER_HOST_MS = 2_000
const TAIL_BYTES = 2_000

/**
 * Starts a host that outlives this process and waits until agents can attach to it. A host that runs or
 * starts already is used instead.
 * @throws Error with the last words of the host, or that it took too long
 */
export async function startDetachedHost(options: DetachedHostOptions): Promise<HostFile & { mcpSocket: string }> {
  const deadlineMs = performance.now() + options.limitMs
  const startedBefore = await readLiveHostFile(options.lockDir).catch(() => undefined)
  const host = startedBefore ? null : launch(options)
  try {
    for (;;) {
      options.signal.throwIfAborted()
      const found = await readLiveHostFile(options.lockDir).catch(() => undefined)
      if (found && found.mcpSocket !== null) return { ...found, mcpSocket: found.mcpSocket }
      const now = performance.now()
      if (host?.endedAt !== undefined && now > host.endedAt + OTHER_HOST_MS)
        throw new Error(`Gatehouse could not be started: ${host.lastWords()}`)
      if (now > deadlineMs) {
        const words = host?.lastWords()
        throw new Error(
          `Gatehouse did not become ready within ${Math.round(options.limitMs / 1000)} s${words ? `: ${words}` : ''}`,
        )
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  } finally {
    host?.letGo()
  }
}

interface Launched {
  endedAt: number | undefined
  lastWords(): string
  letGo(): void
}

function launch({ command: [program, ...args], env }: DetachedHostOptions): Launched {
  // A file without a name: the host can go on writing to it, and nothing is left of it afterwards.
  const path = join(tmpdir(), `gatehouse-start-${randomBytes(8).toString('hex')}`)
  const stderr = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  // The host must not hold on to the folder of whoever happened to need it first.
  const cwd = existsSync(homedir()) ? homedir() : parse(process.execPath).root
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'ignore', stderr] })
  child.unref()
  const launched: Launched = {
    endedAt: undefined,
    lastWords: () => readTail(stderr) || `${program} ended without a word`,
    letGo: () => closeSync(stderr),
  }
  let failure = ''
  child.on('error', (error) => {
    failure = error.message
    launched.lastWords = () => failure
    launched.endedAt = performance.now()
  })
  child.on('exit', () => (launched.endedAt = performance.now()))
  return launched
}

function readTail(fd: number): string {
  const { size } = fstatSync(fd)
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
  readSync(fd, tail, 0, tail.length, size - tail.length)
  // It introduces itself as we do.
  return tail
    .toString('utf8')
    .replaceAll(/^gatehouse: /gm, '')
    .trim()
}
