import { randomUUID } from 'node:crypto'
import {
  processReadReply,
  type processResizeParams,
  processSignalParams,
  processStartResult,
  processTerminateResult,
  processWriteResult,
  type EnvironmentPolicy,
  type ShellSnapshotScope,
  type StartMetadata,
  type WriteStatus,
} from '../../protocol/exec-process.ts'
import type { NetworkProxyLaunch } from '../../protocol/exec-network.ts'
import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import { object, type Infer } from '../../protocol/decode.ts'
import { toPathUri } from '../../protocol/path-uri.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import { ConnectionLost } from './exec-errors.ts'
import { ExecProcess, readOutputOf, type ProcessCalls } from './exec-process.ts'
import type { ExecSession } from './exec-session.ts'
import { abortable, pause } from './settled.ts'

export interface ExecStart {
  /** Program and arguments; nothing goes through a shell. */
  argv: string[]
  /** Absolute path on the server's machine, or a `file:` URI. */
  cwd: string
  /** Wins over everything; without `envPolicy` it is the whole environment. */
  env?: Record<string, string>
  envPolicy?: EnvironmentPolicy
  tty?: boolean
  /** Keeps stdin open for `write`; without it (and without `tty`) the program reads an empty stdin. */
  pipeStdin?: boolean
  /** What the program sees as its own name. */
  arg0?: string
  metadata?: StartMetadata
  sandbox?: SandboxObject
  enforceManagedNetwork?: boolean
  /** A proxy for this process alone; the client's `onPolicyRequest` is asked when it has a time limit. */
  networkProxy?: NetworkProxyLaunch
  /** Scope in which a login shell's startup files are read once. */
  shellSnapshot?: ShellSnapshotScope
  /** Own wire id; default a random one. */
  processId?: string
}

/** How long an abandoned start may take to be refused or ended before its caller is let go anyway. */
const ABORT_PATIENCE_MS = 10_000
/** A start whose answer was lost may still wait for a person: asked about at this pace. */
const STARTING_POLL_MS = 250
/** A server that is not ready for input yet is asked again at this pace. */
const WRITE_RETRY_MS = 20

const nothing = object({})

/**
 * Starts a process. Rejects with the server's RpcError when it is refused (by the owner, a rule or the
 * system; see `spawnErrorKindOf`), with ExecSessionLost, or with the signal's reason. Aborting a start
 * that waits for a decision withdraws it, and ends the process should it have started meanwhile.
 */
export async function startProcess(session: ExecSession, start: ExecStart, signal?: AbortSignal): Promise<ExecProcess> {
  const processId = start.processId ?? randomUUID()
  const params = startParams(processId, start)
  signal?.throwIfAborted()
  const route = session.addRoute(processId)
  const calls = callsOf(session, processId)
  const starting = requestStart(session, processId, params)
  try {
    const { sandboxType } = await abortable(starting, signal)
    route.isStarted = true
    return new ExecProcess(processId, sandboxType, route, calls)
  } catch (error) {
    if (signal?.aborted) await withdraw(starting, calls)
    session.routes.delete(processId)
    throw error
  }
}

function startParams(processId: string, start: ExecStart): Record<string, unknown> {
  return {
    processId,
    argv: start.argv,
    cwd: toPathUri(start.cwd),
    env: start.env ?? {},
    envPolicy: start.envPolicy,
    tty: start.tty ?? false,
    pipeStdin: start.pipeStdin ?? false,
    arg0: start.arg0,
    metadata: start.metadata,
    sandbox: start.sandbox,
    enforceManagedNetwork: start.enforceManagedNetwork ?? false,
    networkProxy: start.networkProxy,
    shellSnapshot: start.shellSnapshot,
  }
}

type StartResult = Infer<typeof processStartResult>

/**
 * A start is never sent twice blindly: ids are unique in a session and stay known after the exit, so
 * a repeat of one that had arrived is told apart and changes nothing.
 */
async function requestStart(session: ExecSession, processId: string, params: unknown): Promise<StartResult> {
  let wasCut = false
  for (;;) {
    const link = await session.liveLink()
    try {
      return await link.request('process/start', params, processStartResult)
    } catch (error) {
      if (error instanceof ConnectionLost) {
        wasCut = true
        await link.closed
      } else if (wasCut && isDuplicate(error)) return awaitStarted(session, processId)
      else throw error
    }
  }
}

/** The wire has one code for every state error; after a cut, a refused repeat of a good start can only be this. */
const isDuplicate = (error: unknown): boolean => error instanceof RpcError && error.code === 'invalidRequest'

/** The start arrived but its answer was lost: waits until the server says what became of it. */
async function awaitStarted(session: ExecSession, processId: string): Promise<StartResult> {
  for (;;) {
    try {
      await session.callUntilAnswered('process/read', { processId, maxBytes: 0 }, processReadReply)
      return { processId }
    } catch (error) {
      // Only the sentence tells this state error from "unknown process".
      if (!(error instanceof RpcError) || !/starting/.test(error.message))
        throw new RpcError('internal', 'the process did not start, and the reason was lost with the connection', null, {
          cause: error,
        })
    }
    await pause(STARTING_POLL_MS)
  }
}

async function withdraw(starting: Promise<StartResult>, calls: ProcessCalls): Promise<void> {
  const settling = calls
    .terminate()
    .then(() => starting)
    // It started all the same, perhaps behind our first terminate.
    .then(() => calls.terminate())
    .catch(() => {})
  await Promise.race([settling, pause(ABORT_PATIENCE_MS)])
}

function callsOf(session: ExecSession, processId: string): ProcessCalls {
  return {
    async read({ afterSeq, maxBytes, waitMs, signal }) {
      const params = { processId, afterSeq, maxBytes, waitMs }
      return readOutputOf(await session.callUntilAnswered('process/read', params, processReadReply, { signal }))
    },
    async write(chunk, writeId, closeStdin): Promise<WriteStatus> {
      const base64 = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('base64')
      const params = { processId, chunk: base64, writeId, ...(closeStdin ? { closeStdin } : {}) }
      for (;;) {
        const { status } = await session.callUntilAnswered('process/write', params, processWriteResult)
        if (status !== 'starting') return status
        await pause(WRITE_RETRY_MS)
      }
    },
    async interrupt() {
      const params: Infer<typeof processSignalParams> = { processId, signal: 'interrupt' }
      await session.call('process/signal', params, nothing)
    },
    async resize(columns, rows) {
      const params: Infer<typeof processResizeParams> = { processId, columns, rows }
      await session.call('process/resize', params, nothing)
    },
    terminate: () => session.callUntilAnswered('process/terminate', { processId }, processTerminateResult),
  }
}
