import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FeedBatch, FeedSnapshot, SidecarView } from '../../preload/api.ts'
import { GATEHOUSE_VERSION } from '../../sidecars/protocol/version.ts'
import { readProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import { startControlServer, type ControlServer } from './control-server.ts'
import type { ControlledHost } from './controlled-host.ts'
import { prepareHostFolders, type HostFolders } from './data-folder.ts'
import { keepCorruptHostFile, readLiveHostFile, removeHostFile, writeHostFile, type HostFile } from './host-file.ts'
import { acquireHostLock, HostRunningError, type HostLock } from './host-lock.ts'

/** What opening needs of a host beyond the control socket's wants. */
export interface OpenableHost extends ControlledHost {
  readonly instanceId: string
  /** Opens the agents' sockets; can never decide. */
  readonly agentToken: string
  readonly appServerToken: string
  start(): Promise<unknown>
  stop(deadlineMs: number): Promise<unknown>
  /** Shows a sentence to the owner. */
  notify(id: string, message: string): void
}

export interface OpenHostOptions<H extends OpenableHost> {
  kind: HostFile['kind']
  /** Default: `GATEHOUSE_HOME`, or `~/.gatehouse`. */
  dataDir?: string
  create: (folders: HostFolders) => Promise<H>
  /** The owner asks this host to stop, through the control socket. */
  requestStop: () => void
  /** It ends by itself when nobody needs it; a window that opens need not ask before it takes over. */
  endsWhenIdle?: boolean
  /** How long another host that is just starting or stopping is waited for. Default 0. */
  waitForOtherMs?: number
  /** One line for the log of the host. */
  log: (message: string) => void
  /** How often it is looked whether the run folder is still there. */
  lookAfterMs?: number
}

export interface OpenHost<H> {
  readonly host: H
  readonly folders: HostFolders
  readonly control: ControlServer
  /** Stops everything within the deadline and gives the data folder free. Later calls join the first. */
  stop(deadlineMs: number): Promise<void>
}

/**
 * Takes the data folder, makes and starts a host on it, opens the control socket and writes `host.json`,
 * in this order; a failure undoes what was done. The same for the app and for `gatehouse serve`.
 * @throws DataFolderError, HostRunningError, SocketPathError, or what `create` and `start` throw
 */
export async function openHost<H extends OpenableHost>(options: OpenHostOptions<H>): Promise<OpenHost<H>> {
  const { kind, log } = options
  const folders = prepareHostFolders(options.dataDir)
  const undo: ((deadlineMs: number) => unknown)[] = []
  const undoAll = async (deadlineMs: number) => {
    for (let step = undo.pop(); step; step = undo.pop()) await step(deadlineMs)
  }
  try {
    let lock = await takeLock(folders.lockDir, options.waitForOtherMs ?? 0, log)
    undo.push(() => lock.release())
    await keepCorruptHostFile(folders.lockDir, log)
    const host = await options.create(folders)
    undo.push((deadlineMs) => host.stop(deadlineMs))
    const controlToken = randomBytes(32).toString('base64url')
    const control = await startControlServer({
      path: join(folders.runDir, CONTROL_SOCKET),
      host,
      controlToken,
      agentToken: host.agentToken,
      hello: {
        instanceId: host.instanceId,
        version: GATEHOUSE_VERSION,
        kind,
        pid: process.pid,
        endsWhenIdle: options.endsWhenIdle ?? false,
      },
      requestStop: options.requestStop,
      log,
    })
    undo.push(() => control.close())
    const identity = await readProcessIdentity(process.pid)
    if (!identity) throw new Error('the process table cannot be read')
    const published = publishHostFile(
      folders,
      host,
      {
        ...identity,
        instanceId: host.instanceId,
        version: GATEHOUSE_VERSION,
        kind,
        controlSocket: join(folders.runDir, CONTROL_SOCKET),
        controlToken,
        agentToken: host.agentToken,
        appServerToken: host.appServerToken,
      },
      log,
    )
    undo.push(() => published.withdraw())
    await host.start()
    await published.publish()
    const guard = setInterval(async () => {
      const retaken = await retakeLostLock(lock, folders, host, log)
      if (!retaken) return
      lock = retaken
      published.publishAgain()
    }, options.lookAfterMs ?? LOOK_AFTER_MS)
    guard.unref()
    undo.push(() => clearInterval(guard))
    let stopping: Promise<void> | undefined
    return { host, folders, control, stop: (deadlineMs) => (stopping ??= undoAll(deadlineMs)) }
  } catch (error) {
    await undoAll(2_000)
    throw error
  }
}

const CONTROL_SOCKET = 'control.sock'

/** A cleaner of old files, or a hand, may remove the run folder of a host that works. */
const LOOK_AFTER_MS = 5_000

/**
 * Two hosts must never write one journal: a lock that was removed is taken again, and the owner is told what no
 * longer works. Undefined when nothing is lost, or another host was faster.
 */
async function retakeLostLock(
  lock: HostLock,
  { dataDir, lockDir, runDir }: HostFolders,
  host: OpenableHost,
  log: (message: string) => void,
): Promise<HostLock | undefined> {
  try {
    const isHeld = lock.isHeld()
    if (isHeld && existsSync(join(runDir, CONTROL_SOCKET))) return undefined
    if (!isHeld) prepareHostFolders(dataDir)
    const retaken = isHeld ? undefined : await acquireHostLock(lockDir, log)
    host.notify(
      'run-folder',
      `Files in ${runDir} were removed while Gatehouse ran. Restart Gatehouse: agents and the command line cannot reach it any more.`,
    )
    return retaken
  } catch (error) {
    host.notify('run-folder', `${lockDir} was removed while Gatehouse ran: ${(error as Error).message}.`)
    return undefined
  }
}

const LOCK_INTERVAL_MS = 100

/** A host that can be reached keeps the lock; one that cannot be reached yet or any more is on its way. */
async function takeLock(lockDir: string, waitMs: number, log: (message: string) => void): Promise<HostLock> {
  const deadlineMs = Date.now() + waitMs
  for (;;)
    try {
      return await acquireHostLock(lockDir, log)
    } catch (error) {
      if (!(error instanceof HostRunningError) || Date.now() >= deadlineMs) throw error
      if (await readLiveHostFile(lockDir).catch(() => undefined)) throw error
      await new Promise((resolve) => setTimeout(resolve, LOCK_INTERVAL_MS))
    }
}

type Fixed = Omit<
  HostFile,
  'appServer' | 'appServerWs' | 'mcpSocket' | 'execSocket' | 'execWs' | 'mcpHttp' | 'proxyHttp'
>

/** Keeps host.json in step with where the sidecars can be reached, from when all have started once. */
function publishHostFile(folders: HostFolders, host: OpenableHost, fixed: Fixed, log: (message: string) => void) {
  let sidecars = host.feed.snapshot().tables.sidecars
  let written = ''
  let isPublished = false
  let writing: Promise<void> = Promise.resolve()
  let isWithdrawn = false
  const write = async () => {
    const content = { ...fixed, ...endpointsOf(sidecars) }
    const text = JSON.stringify(content)
    if (!isPublished || isWithdrawn || text === written) return
    written = text
    await writeHostFile(folders.lockDir, content)
  }
  const schedule = () => {
    writing = writing.then(write).catch((error: Error) => log(`host.json cannot be written: ${error.message}`))
  }
  const dispose = host.feed.subscribe(({ deltas }: FeedBatch) => {
    const changed = deltas.filter((delta) => 'table' in delta && delta.table === 'sidecars')
    for (const delta of changed)
      if ('table' in delta && delta.table === 'sidecars' && delta.value)
        sidecars = { ...sidecars, [delta.key]: delta.value }
    if (changed.length > 0) schedule()
  })
  return {
    publish: () => {
      isPublished = true
      // What became known last may not have come as a batch yet.
      sidecars = host.feed.snapshot().tables.sidecars
      schedule()
      return writing
    },
    publishAgain: () => {
      written = ''
      schedule()
    },
    withdraw: async () => {
      isWithdrawn = true
      dispose()
      await writing
      await removeHostFile(folders.lockDir)
    },
  }
}

function endpointsOf(sidecars: FeedSnapshot['tables']['sidecars']): Omit<HostFile, keyof Fixed> {
  const of = (name: SidecarView['name'], transport: string) => sidecars[name]?.endpoints[transport] ?? null
  return {
    mcpSocket: of('mcp-server', 'unix'),
    appServer: of('mcp-server', 'appServer'),
    appServerWs: of('mcp-server', 'appServerWs'),
    mcpHttp: of('mcp-server', 'http'),
    execSocket: of('exec-server', 'unix'),
    execWs: of('exec-server', 'ws'),
    proxyHttp: of('network-proxy', 'http'),
  }
}
