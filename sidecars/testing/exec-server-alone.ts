import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const EXEC_SERVER_FILE = join(dirname(fileURLToPath(import.meta.url)), '../../out/sidecars/exec-server.cjs')

/** The built exec server as a command, with a temporary folder of its own. */
export interface ExecServerAlone {
  child: ChildProcess
  pid: number
  url: string
  /** TMPDIR of the server, where it keeps its books. */
  tmp: string
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  stderr(): string
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

export interface AloneOptions {
  args?: string[]
  env?: Record<string, string>
  /** Shared with another server of the test; then the test removes it. */
  tmp?: string
}

/** Starts it on a port of its own choice. */
export async function startExecServerAlone({ args = [], env = {}, tmp }: AloneOptions = {}): Promise<ExecServerAlone> {
  const folder = tmp ?? mkdtempSync(join(tmpdir(), 'gatehouse-alone-'))
  const child = spawn(process.execPath, [EXEC_SERVER_FILE, '--listen', 'ws://127.0.0.1:0', ...args], {
    env: { ...process.env, TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  let stderr = ''
  child.stderr.on('data', (bytes) => (stderr += String(bytes)))
  const url = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stdout.on('data', (bytes) => {
      said += String(bytes)
      if (said.includes('\n')) resolve(said.slice(0, said.indexOf('\n')))
    })
    void exited.then(({ code }) => reject(new Error(`the exec server ended with ${code}: ${stderr}`)))
  })
  return {
    child,
    pid: child.pid as number,
    url,
    tmp: folder,
    exited,
    stderr: () => stderr,
    async stop() {
      child.kill('SIGTERM')
      await exited
      if (tmp === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}
