/** `command/exec*` and `process/*`: programs that a client runs itself, outside of threads. */
import {
  array,
  boolean,
  integer,
  nullable,
  object,
  optional,
  record,
  string,
  unknown,
  withDefault,
} from '../../../protocol/decode.ts'
import type { ExecProcess } from '../../../exec-server/client/index.ts'
import type { SandboxObject } from '../../../protocol/exec-sandbox.ts'
import type { CommandStarter } from '../../engine/services.ts'
import type { AppConnection } from '../connection.ts'
import { method, type Method } from '../method-table.ts'
import { invalidRequest } from '../wire-error.ts'

const DEFAULT_CAP_BYTES = 1024 * 1024
const DEFAULT_TIMEOUT_MS = 10_000
const TIMED_OUT = 124

/** Character cells of a terminal. */
const size = object({ rows: integer(1), cols: integer(1) })
const execParams = object({
  command: array(string),
  processId: optional(string),
  tty: withDefault(boolean, false),
  streamStdin: withDefault(boolean, false),
  streamStdoutStderr: withDefault(boolean, false),
  outputBytesCap: optional(integer(0)),
  disableOutputCap: withDefault(boolean, false),
  timeoutMs: optional(integer(0)),
  disableTimeout: withDefault(boolean, false),
  cwd: optional(string),
  env: optional(record(nullable(string))),
  size: optional(size),
  sandboxPolicy: unknown,
  permissionProfile: optional(string),
})
const spawnParams = object({
  command: array(string),
  processHandle: string,
  cwd: string,
  tty: withDefault(boolean, false),
  streamStdin: withDefault(boolean, false),
  streamStdoutStderr: withDefault(boolean, false),
  outputBytesCap: optional(integer(0)),
  timeoutMs: optional(integer(0)),
  env: optional(record(nullable(string))),
  size: optional(size),
})
const byProcess = (params: { processId?: string }, connection: AppConnection) =>
  params.processId === undefined
    ? null
    : { key: `exec:${connection.id}:${params.processId}`, access: 'exclusive' as const }
const byHandle = (params: { processHandle: string }, connection: AppConnection) => ({
  key: `process:${connection.id}:${params.processHandle}`,
  access: 'exclusive' as const,
})

export interface CommandContext {
  exec: () => CommandStarter
  defaultCwd: () => string
  /** The walls asked for, or those of the configuration; null = none. Rejects with SettingsError. */
  sandbox(cwd: string, asked: { sandboxPolicy?: unknown; permissions?: string }): Promise<SandboxObject | null>
}

export function commandMethods({ exec, defaultCwd, sandbox: wallsOf }: CommandContext): Record<string, Method> {
  const running = new Map<string, ExecProcess>()
  const name = (connection: AppConnection, kind: 'exec' | 'process', id: string): string =>
    `${kind}:${connection.id}:${id}`

  const start = async (params: {
    command: string[]
    cwd?: string
    tty: boolean
    streamStdin: boolean
    env?: Record<string, string | null>
    size?: { rows: number; cols: number }
    sandbox: SandboxObject | null
  }) => {
    if (params.size && !params.tty) throw invalidRequest('size: only a command with tty has one')
    if (params.command.length === 0) throw invalidRequest('command must not be empty')
    const set = Object.fromEntries(Object.entries(params.env ?? {}).filter((e): e is [string, string] => e[1] !== null))
    const exclude = Object.entries(params.env ?? {}).flatMap(([key, value]) => (value === null ? [key] : []))
    const process = await exec().start({
      argv: params.command,
      cwd: params.cwd ?? defaultCwd(),
      tty: params.tty,
      pipeStdin: params.streamStdin,
      env: set,
      envPolicy: { inherit: 'all', ignoreDefaultExcludes: true, exclude, set: {}, includeOnly: [] },
      ...(params.sandbox && { sandbox: params.sandbox }),
    })
    if (params.size) await process.resize(params.size.cols, params.size.rows)
    return process
  }
  const need = (connection: AppConnection, kind: 'exec' | 'process', id: string): ExecProcess => {
    const process = running.get(name(connection, kind, id))
    if (!process)
      throw invalidRequest(
        kind === 'exec'
          ? `no active command/exec for process id "${id}"`
          : `no active process for process handle "${id}"`,
      )
    return process
  }
  const write = async (process: ExecProcess, deltaBase64: string | undefined, closeStdin: boolean) => {
    const bytes = Buffer.from(deltaBase64 ?? '', 'base64')
    if (bytes.length > 0) await process.write(bytes)
    if (closeStdin) await process.endInput()
    return {}
  }

  return {
    'command/exec': method(execParams, {
      experimentalFields: ['permissionProfile'],
      run: async (params, { connection }) => {
        const { processId } = params
        if (processId === undefined && (params.streamStdin || params.streamStdoutStderr || params.tty))
          throw invalidRequest('command/exec needs a processId for tty, streamStdin and streamStdoutStderr')
        const key = processId === undefined ? null : name(connection, 'exec', processId)
        if (key !== null && running.has(key))
          throw invalidRequest(`processId: "${processId}" is in use on this connection`)
        if ((params.sandboxPolicy ?? null) !== null && params.permissionProfile !== undefined)
          throw invalidRequest('permissionProfile cannot be combined with sandboxPolicy')
        const sandbox = await wallsOf(params.cwd ?? defaultCwd(), {
          sandboxPolicy: params.sandboxPolicy,
          permissions: params.permissionProfile,
        })
        const process = await start({ ...params, sandbox })
        if (key !== null) running.set(key, process)
        const ownKey = key ?? `exec:${process.id}`
        connection.own(ownKey, () => void process.terminate().catch(() => undefined))
        try {
          const onDelta = params.streamStdoutStderr
            ? (stream: 'stdout' | 'stderr', bytes: Uint8Array, capReached: boolean) =>
                connection.notify('command/exec/outputDelta', {
                  processId,
                  stream,
                  deltaBase64: Buffer.from(bytes).toString('base64'),
                  capReached,
                })
            : null
          return await collect(process, {
            capBytes: params.disableOutputCap ? Number.MAX_SAFE_INTEGER : (params.outputBytesCap ?? DEFAULT_CAP_BYTES),
            timeoutMs:
              params.disableTimeout || (key !== null && params.timeoutMs === undefined)
                ? null
                : (params.timeoutMs ?? DEFAULT_TIMEOUT_MS),
            onDelta,
          }).then(({ exitCode, stdout, stderr }) => ({ exitCode, stdout, stderr }))
        } finally {
          if (key !== null) running.delete(key)
          connection.disown(ownKey)
        }
      },
    }),
    'command/exec/write': method(
      object({ processId: string, deltaBase64: optional(string), closeStdin: withDefault(boolean, false) }),
      {
        queue: byProcess,
        run: ({ processId, deltaBase64, closeStdin }, { connection }) =>
          write(need(connection, 'exec', processId), deltaBase64, closeStdin),
      },
    ),
    'command/exec/resize': method(object({ processId: string, size }), {
      queue: byProcess,
      run: async ({ processId, size: { rows, cols } }, { connection }) => {
        await need(connection, 'exec', processId).resize(cols, rows)
        return {}
      },
    }),
    'command/exec/terminate': method(object({ processId: string }), {
      queue: byProcess,
      run: async ({ processId }, { connection }) => {
        await need(connection, 'exec', processId).terminate()
        return {}
      },
    }),
    'process/spawn': method(spawnParams, {
      experimental: true,
      queue: byHandle,
      run: async (params, { connection, after }) => {
        const key = name(connection, 'process', params.processHandle)
        if (running.has(key))
          throw invalidRequest(`processHandle: "${params.processHandle}" is in use on this connection`)
        const process = await start({ ...params, sandbox: null })
        running.set(key, process)
        connection.own(key, () => void process.terminate().catch(() => undefined))
        after(
          () =>
            void report(connection, process, params, () => {
              running.delete(key)
              connection.disown(key)
            }),
        )
        return {}
      },
    }),
    'process/writeStdin': method(
      object({ processHandle: string, deltaBase64: optional(string), closeStdin: withDefault(boolean, false) }),
      {
        experimental: true,
        queue: byHandle,
        run: ({ processHandle, deltaBase64, closeStdin }, { connection }) =>
          write(need(connection, 'process', processHandle), deltaBase64, closeStdin),
      },
    ),
    'process/resizePty': method(object({ processHandle: string, size }), {
      experimental: true,
      queue: byHandle,
      run: async ({ processHandle, size: { rows, cols } }, { connection }) => {
        await need(connection, 'process', processHandle).resize(cols, rows)
        return {}
      },
    }),
    'process/kill': method(object({ processHandle: string }), {
      experimental: true,
      queue: byHandle,
      run: async ({ processHandle }, { connection }) => {
        await need(connection, 'process', processHandle).terminate()
        return {}
      },
    }),
  }
}

async function report(
  connection: AppConnection,
  process: ExecProcess,
  params: { processHandle: string; streamStdoutStderr: boolean; outputBytesCap?: number; timeoutMs?: number },
  release: () => void,
): Promise<void> {
  const { processHandle } = params
  const outcome = await collect(process, {
    capBytes: params.outputBytesCap ?? DEFAULT_CAP_BYTES,
    timeoutMs: params.timeoutMs ?? null,
    onDelta: params.streamStdoutStderr
      ? (stream, bytes, capReached) =>
          connection.notify('process/outputDelta', {
            processHandle,
            stream,
            deltaBase64: Buffer.from(bytes).toString('base64'),
            capReached,
          })
      : null,
  }).catch((error: unknown) => ({
    exitCode: -1,
    stdout: '',
    stderr: (error as Error).message,
    stdoutCapReached: false,
    stderrCapReached: false,
  }))
  release()
  connection.notify('process/exited', { processHandle, ...outcome })
}

interface CollectOptions {
  capBytes: number
  timeoutMs: number | null
  onDelta: ((stream: 'stdout' | 'stderr', bytes: Uint8Array, capReached: boolean) => void) | null
}

/** Follows a process to its end: kept as text, or handed on piece by piece. */
async function collect(process: ExecProcess, { capBytes, timeoutMs, onDelta }: CollectOptions) {
  const kept = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  const sizes = { stdout: 0, stderr: 0 }
  let timedOut = false
  const timer =
    timeoutMs === null
      ? undefined
      : setTimeout(() => {
          timedOut = true
          void process.terminate().catch(() => undefined) // Its end is seen below.
        }, timeoutMs)
  try {
    for await (const piece of process.output) {
      if (piece.kind === 'gap') continue
      const stream = piece.stream === 'stderr' ? 'stderr' : 'stdout'
      const bytes = Buffer.from(piece.bytes).subarray(0, Math.max(0, capBytes - sizes[stream]))
      const capReached = sizes[stream] + piece.bytes.length > capBytes
      if (bytes.length > 0 || (capReached && sizes[stream] <= capBytes)) onDelta?.(stream, bytes, capReached)
      if (!onDelta) kept[stream].push(bytes)
      sizes[stream] += piece.bytes.length
    }
    const { exitCode } = await process.exited
    return {
      exitCode: timedOut ? TIMED_OUT : (exitCode ?? -1),
      stdout: Buffer.concat(kept.stdout).toString('utf8'),
      stderr: Buffer.concat(kept.stderr).toString('utf8'),
      stdoutCapReached: sizes.stdout > capBytes,
      stderrCapReached: sizes.stderr > capBytes,
    }
  } finally {
    clearTimeout(timer)
  }
}
