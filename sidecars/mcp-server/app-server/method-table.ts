/** The methods of the app server: who may call them, in which queue, and what does the work. */
import { decode, DecodeError, type Decoder } from '../../protocol/decode.ts'
import { withTrace, type TraceContext } from '../engine/trace-context.ts'
import type { RpcId } from '../../rpc/json-rpc.ts'
import type { AppConnection } from './connection.ts'
import type { Access, RequestQueues } from './request-queues.ts'
import { invalidRequest, WireError } from './wire-error.ts'

export interface MethodCall {
  connection: AppConnection
  /** Runs after the answer went out. */
  after(work: () => void): void
}

interface MethodOf<P> {
  /** Needs the client's `experimentalApi` capability. */
  experimental?: boolean
  /** Members of the parameters that need it. */
  experimentalFields?: readonly string[]
  /** Queue of the request; null = at once, beside all others. */
  queue?: (params: P, connection: AppConnection) => { key: string; access: Access } | null
  run: (params: P, call: MethodCall) => Promise<unknown> | unknown
}
export type Method = MethodOf<unknown> & { params: Decoder<unknown> }

/** Ties a method's work to what its decoder gives. */
export function method<P>(params: Decoder<P>, definition: MethodOf<P>): Method {
  return { params, ...(definition as unknown as MethodOf<unknown>) }
}

export const threadQueue = (params: { threadId: string }) => ({
  key: `thread:${params.threadId}`,
  access: 'exclusive' as const,
})
export const configQueue = (access: Access) => () => ({ key: 'config', access })

/** Owned by the server. */
export class MethodTable {
  private readonly methods = new Map<string, Method>()

  constructor(private readonly queues: RequestQueues) {}

  add(methods: Record<string, Method>): this {
    for (const [name, definition] of Object.entries(methods)) this.methods.set(name, definition)
    return this
  }

  /** Decodes, queues and answers one request. */
  dispatch(connection: AppConnection, id: RpcId, name: string, params: unknown, trace: unknown): void {
    const known = this.methods.get(name)
    let decoded: unknown
    try {
      if (name !== 'initialize' && !connection.initialized) throw invalidRequest('Not initialized')
      if (!known) throw invalidRequest(`Invalid request: unknown variant \`${name}\``)
      if (known.experimental && !connection.experimental)
        throw invalidRequest(`${name} requires experimentalApi capability`)
      const field = known.experimentalFields?.find(
        (member) => (((params ?? {}) as Record<string, unknown>)[member] ?? null) !== null,
      )
      if (field !== undefined && !connection.experimental)
        throw invalidRequest(`${name}.${field} requires experimentalApi capability`)
      decoded = decode(known.params, params ?? {}, '')
    } catch (error) {
      return connection.refuse(
        id,
        error instanceof DecodeError ? invalidRequest(`Invalid request: ${wording(error)}`) : error,
      )
    }
    connection.inFlight++
    const work = () => this.run(known, decoded, connection, id, trace).finally(() => connection.inFlight--)
    const queue = known.queue?.(decoded, connection) ?? null
    if (queue) this.queues.enqueue(queue.key, queue.access, connection.gate, work)
    else void connection.gate.pass(work)
  }

  private async run(
    known: Method,
    params: unknown,
    connection: AppConnection,
    id: RpcId,
    trace: unknown,
  ): Promise<void> {
    const afterwards: (() => void)[] = []
    try {
      const call: MethodCall = { connection, after: (work) => void afterwards.push(work) }
      const result = await withTrace(carrierOf(trace), () => known.run(params, call))
      connection.answer(id, result ?? {})
    } catch (error) {
      connection.refuse(id, error instanceof WireError ? error : asWireError(error))
    }
    for (const work of afterwards) work()
  }
}

function carrierOf(trace: unknown): TraceContext | null {
  const { traceparent, tracestate } = (trace ?? {}) as { traceparent?: unknown; tracestate?: unknown }
  if (typeof traceparent !== 'string') return null
  return { traceparent, tracestate: typeof tracestate === 'string' ? tracestate : null }
}

function asWireError(error: unknown): unknown {
  const { name, message } = error as Error
  // A caller's fault keeps its words; the rest is ours (-32603).
  return [
    'SettingsError',
    'BadCursor',
    'ThreadMissing',
    'ThreadInUse',
    'ReviewTargetError',
    'PathError',
    'RealtimeRefused',
    'KeychainError',
    'DecodeError',
  ].includes(name)
    ? invalidRequest(message)
    : error
}

function wording(error: DecodeError): string {
  return error.problem.endsWith('got nothing') ? `missing field \`${error.path}\`` : `${error.path}: ${error.problem}`
}
