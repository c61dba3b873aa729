/** For integration tests: the built command line on a data folder of its own. */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  descendantsOf,
  readProcessIdentity,
  readProcessTable,
  signalProcess,
  type ProcessEntry,
} from '../../sidecars/rpc/process-identity.ts'
import type { SidecarView } from '../../preload/api.ts'
import { readLiveHostFile, type HostFile } from '../control/host-file.ts'

const GATEHOUSE = resolve('bin/gatehouse')

export interface Finished {
  exitCode: number | null
  signal: string | null
  stdout: Buffer
  stderr: string
}

export interface Started {
  child: ChildProcess
  finished: Promise<Finished>
  /** Resolves when stdout has the text. */
  shows(text: string): Promise<void>
}

/** What `gatehouse status --json` prints of a running host. */
export interface HostStatus {
  running: boolean
  kind: string
  pid: number
  sidecars: SidecarView[]
}

/** Waits for a state, not for a time. */
export async function until(isReached: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isReached())) await new Promise((resolve) => setTimeout(resolve, 20))
}

export async function isAlive(pid: number): Promise<boolean> {
  return (await readProcessIdentity(pid)) !== undefined
}

/** A data folder with everything that runs on it. */
export class CliHome {
  private readonly root = mkdtempSync(join(tmpdir(), 'gh-cli-'))
  /** The owner's home, empty: no profile of this machine takes part. */
  readonly homeDir = join(this.root, 'home')
  readonly dataDir = join(this.root, 'data')
  readonly lockDir = join(this.dataDir, 'run')
  readonly env: NodeJS.ProcessEnv
  private readonly started: Started[] = []
  private readonly seen = new Map<string, ProcessEntry>()

  constructor(env: NodeJS.ProcessEnv = {}) {
    mkdirSync(this.homeDir)
    mkdirSync(this.dataDir, { mode: 0o700 })
    this.env = { ...process.env, HOME: this.homeDir, SHELL: '/bin/bash', GATEHOUSE_HOME: this.dataDir, ...env }
  }

  start(args: string[], options: SpawnOptions = {}): Started {
    const child = spawn(process.execPath, [GATEHOUSE, ...args], { env: this.env, stdio: 'pipe', ...options })
    const stdout: Buffer[] = []
    let stderr = ''
    const listeners = new Set<() => void>()
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout.push(chunk)
      for (const listener of listeners) listener()
    })
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const finished = new Promise<Finished>((settle) =>
      child.once('close', (exitCode, signal) => settle({ exitCode, signal, stdout: Buffer.concat(stdout), stderr })),
    )
    const shows = (text: string) =>
      new Promise<void>((settle, reject) => {
        const look = () => {
          if (Buffer.concat(stdout).includes(text)) settle()
        }
        listeners.add(look)
        look()
        void finished.then(() => reject(new Error(`it ended without showing ${text}: ${stderr}`)))
      })
    const started = { child, finished, shows }
    this.started.push(started)
    return started
  }

  /** Runs one command to its end, with `input` on stdin. */
  run(args: string[], input: string | Buffer = ''): Promise<Finished> {
    const { child, finished } = this.start(args)
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
    return finished
  }

  async json<T>(args: string[]): Promise<T> {
    const { stdout, stderr } = await this.run([...args, '--json'])
    if (stdout.length === 0) throw new Error(stderr)
    return JSON.parse(stdout.toString()) as T
  }

  status(): Promise<HostStatus> {
    return this.json<HostStatus>(['status'])
  }
  async sidecar(name: string): Promise<SidecarView | undefined> {
    return (await this.status()).sidecars.find((view) => view.name === name)
  }

  /** Starts `gatehouse serve` and resolves when it can be used. */
  async serve(): Promise<Started & { file: HostFile }> {
    const host = this.start(['serve'])
    await host.shows('Ctrl-C stops this host')
    const file = await readLiveHostFile(this.lockDir)
    if (!file) throw new Error('the host runs without a host.json')
    return { ...host, file }
  }

  /** Every process below `pid`, remembered for `dispose`. */
  async below(pid: number): Promise<ProcessEntry[]> {
    const entries = descendantsOf(pid, await readProcessTable())
    for (const entry of entries) this.seen.set(`${entry.pid} ${entry.startedAt}`, entry)
    return entries
  }

  async dispose(): Promise<void> {
    const file = await readLiveHostFile(this.lockDir).catch(() => undefined)
    if (file) {
      await this.below(file.pid)
      await signalProcess(file, 'SIGKILL')
    }
    for (const { child } of this.started) child.kill('SIGKILL')
    for (const entry of this.seen.values()) await signalProcess(entry, 'SIGKILL')
    rmSync(this.root, { recursive: true, force: true })
  }
}
