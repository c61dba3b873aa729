import { spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { placeOutsideOfTmp } from './place-outside-of-tmp.ts'

/** An exec server that a suite runs against: ours from out/, or the real one of the Codex CLI. */
export interface ExecServerProgram {
  name: string
  program: string
  /** Arguments before `--listen`. */
  args: string[]
  isOurs: boolean
}

const ours: ExecServerProgram = {
  name: 'Gatehouse',
  program: process.execPath,
  args: [fileURLToPath(new URL('../../out/sidecars/exec-server.cjs', import.meta.url))],
  isOurs: true,
}

/** Ours always; the Codex CLI's own when `GATEHOUSE_CODEX` names its binary. */
export function execServersUnderTest(): ExecServerProgram[] {
  const codex = process.env.GATEHOUSE_CODEX
  return codex ? [ours, { name: 'Codex', program: codex, args: ['exec-server'], isOurs: false }] : [ours]
}

export interface RunningExecServer {
  url: string
  /** Sends a signal to the server's whole group: the CLI is a program within a launcher. */
  signal(name: NodeJS.Signals): void
  stop(): void
}

/** A home of its own; the real server keeps no helpers below /tmp, so it stands outside of it. */
export function scratchHome(): { path: string; env: NodeJS.ProcessEnv; remove(): void } {
  const path = placeOutsideOfTmp('.gatehouse-test-')
  return {
    path,
    env: { ...process.env, HOME: path, CODEX_HOME: path, NO_PROXY: '*', no_proxy: '*' },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** Starts a server on a WebSocket; its whole group ends with `stop`. */
export async function startExecServer(server: ExecServerProgram, env: NodeJS.ProcessEnv): Promise<RunningExecServer> {
  const child = spawn(server.program, [...server.args, '--listen', 'ws://127.0.0.1:0'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const url = await firstUrl(child)
  return { url, signal: (name) => signalGroup(child, name), stop: () => signalGroup(child, 'SIGKILL') }
}

function firstUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (bytes) => (said += String(bytes)))
    child.stdout?.on('data', (bytes) => {
      said += String(bytes)
      const url = /ws:\/\/\S+/.exec(said)
      if (url) resolve(url[0])
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the exec server ended with ${code}: ${said}`)))
  })
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), name)
  } catch {
    // It has ended by itself.
  }
}
