import { ControlClient, isHostGone } from '../control/control-client.ts'
import { hostFolders } from '../control/data-folder.ts'
import { readLiveHostFile, type HostFile } from '../control/host-file.ts'
import { CommandError } from './command.ts'
import { startDetachedHost } from './detached-host.ts'

export const NOT_RUNNING = 'Gatehouse is not running; start the app, or run: gatehouse serve'

export interface Connection {
  client: ControlClient
  file: HostFile
}

/** Connects to the running host, or resolves with undefined when none runs. */
export async function tryConnect(): Promise<Connection | undefined> {
  const file = await readLiveHostFile(hostFolders().lockDir)
  if (!file) return undefined
  try {
    return { client: await ControlClient.connect(file), file }
  } catch (error) {
    if (isHostGone(error)) return undefined
    throw error
  }
}

/** Does `work` with the running host and closes the connection after it. */
export async function withHost<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await tryConnect()
  if (!connection) throw new CommandError(NOT_RUNNING)
  try {
    return await work(connection)
  } finally {
    connection.client.close()
  }
}

/** A host that is about to stop may still be met; the next one then starts. */
const ATTEMPTS = 3
/** Sidecars get 10 s for their handshake; this is a little more. */
const START_LIMIT_MS = 15_000

/** Connects to the running host, or starts a headless one that ends when nobody needs it any more. */
export async function connectOrStart(): Promise<Connection> {
  let failure: unknown
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const connection = await tryConnect()
    if (connection) return connection
    failure = await startDetachedHost({
      lockDir: hostFolders().lockDir,
      command: [process.execPath, process.argv[1] ?? '', 'serve', '--until-idle'],
      env: process.env,
      limitMs: START_LIMIT_MS,
      signal: new AbortController().signal,
    }).then(
      () => undefined,
      (error: unknown) => error,
    )
  }
  // A host without its MCP server counts as not ready for agents, and does for us.
  const connection = await tryConnect()
  if (connection) return connection
  throw new CommandError(
    failure instanceof Error
      ? failure.message
      : 'a host was started but cannot be reached; run gatehouse serve to see why',
  )
}
