/** App servers that a suite runs against: ours from out/, and the Codex CLI's own where one is named. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { AppServerClient, socketCarrier, stdioCarrier } from './app-server-client.ts'

export interface AppServerProgram {
  name: string
  program: string
  /** Arguments before `--listen`. */
  args: string[]
  isOurs: boolean
}
export type AppServerTransport = 'stdio' | 'ws' | 'unix'

const ours: AppServerProgram = {
  name: 'Gatehouse',
  program: process.execPath,
  args: [
    process.env.GATEHOUSE_APP_SERVER ?? fileURLToPath(new URL('../../out/sidecars/app-server.cjs', import.meta.url)),
  ],
  isOurs: true,
}

/** Ours always; the Codex CLI's own when `GATEHOUSE_CODEX` names its binary. */
export function appServersUnderTest(): AppServerProgram[] {
  const codex = process.env.GATEHOUSE_CODEX
  return codex ? [ours, { name: 'Codex', program: codex, args: ['app-server'], isOurs: false }] : [ours]
}

/** stdio always; every transport when `GATEHOUSE_TRANSPORTS=all` says so. */
export const transportsUnderTest = (): AppServerTransport[] =>
  process.env.GATEHOUSE_TRANSPORTS === 'all' ? ['stdio', 'ws', 'unix'] : ['stdio']

export interface RunningAppServer {
  /** A new connection that has not shaken hands. Over stdio that is a server of its own. */
  connect(headers?: Record<string, string>): Promise<AppServerClient>
  /** Where it listens; null for stdio. */
  url: string | null
  /** SIGKILL goes to the server's whole group: the CLI is a program within a launcher, which hands on the others. */
  signal(name: NodeJS.Signals): void
  /** Resolves with the exit code when it has ended; of a stdio server when its last one has. */
  ended: () => Promise<number | null>
  /** Ends it and resolves when it is gone. */
  stop(): Promise<void>
}

export interface AppServerPlace {
  env: NodeJS.ProcessEnv
  cwd: string
  /** Of the unix socket. */
  socketPath: string
}

/** Starts a server; its whole group ends with `stop`. */
export async function startAppServer(
  server: AppServerProgram,
  transport: AppServerTransport,
  place: AppServerPlace,
  more: string[] = [],
): Promise<RunningAppServer> {
  return transport === 'stdio' ? stdioServer(server, place) : listeningServer(server, transport, place, more)
}

function stdioServer(server: AppServerProgram, place: AppServerPlace): RunningAppServer {
  const running: { child: ChildProcess; ended: Promise<void>; close(): void }[] = []
  return {
    url: null,
    connect: () => {
      const { carrier, child, ended } = stdioCarrier(server.program, server.args, place)
      running.push({ child, ended, close: () => carrier.close() })
      return Promise.resolve(new AppServerClient(carrier))
    },
    signal: (name) => running.at(-1)?.child.kill(name),
    ended: async () => {
      await running.at(-1)?.ended
      return running.at(-1)?.child.exitCode ?? null
    },
    stop: async () => {
      for (const { close } of running) close()
      await Promise.all(running.map(({ ended }) => ended))
    },
  }
}

async function listeningServer(
  server: AppServerProgram,
  transport: 'ws' | 'unix',
  place: AppServerPlace,
  more: string[],
): Promise<RunningAppServer> {
  const address = transport === 'unix' ? `unix://${place.socketPath}` : 'ws://127.0.0.1:0'
  const child = spawn(server.program, [...server.args, '--listen', address, ...more], {
    env: place.env,
    cwd: place.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const closed = once(child, 'close')
  const url = await Promise.race([
    transport === 'unix' ? untilListening(address) : firstUrl(child),
    closed.then(() => Promise.reject(new Error(`${server.name} ended before it listened`))),
  ])
  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    if (name === 'SIGKILL') process.kill(-child.pid!, name)
    else child.kill(name)
  }
  const ended = async () => {
    await closed
    return child.exitCode
  }
  return {
    url,
    connect: async (headers) => new AppServerClient(await socketCarrier(url, headers)),
    signal,
    ended,
    stop: async () => {
      signal('SIGKILL')
      await ended()
    },
  }
}

/** Both print the address, on one stream or the other. */
function firstUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (bytes: Buffer) => {
        said += bytes.toString()
        const found = /ws:\/\/[\d.]+:\d+/.exec(said)
        if (found) resolve(found[0])
      })
  })
}

async function untilListening(url: string): Promise<string> {
  for (;;) {
    try {
      ;(await socketCarrier(url)).close()
      return url
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
