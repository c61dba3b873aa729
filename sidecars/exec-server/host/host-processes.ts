import { object } from '../../protocol/decode.ts'
import {
  processRead,
  processResize,
  processSignal,
  processTarget,
  processWrite,
  type ProcessFacts,
  type SessionFacts,
} from '../../protocol/host-channel.ts'
import type { ProcessId } from '../../protocol/ids.ts'
import type { RpcPeer } from '../../rpc/peer.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ExecServer, ProcessEvents } from '../exec-server.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'
import { LineTooLongError } from '../processes/pty-input.ts'
import type { Session } from '../sessions/session.ts'
import type { SessionStoreEvents } from '../sessions/session-store.ts'
import { Base64Error, Base64Text } from '../wire/base64-text.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { ChangedProcesses } from './changed-processes.ts'
import { readForHost } from './read-for-host.ts'

/** What the host learns about processes and sessions, and what it can do to them. */
export class HostProcesses implements ProcessEvents, SessionStoreEvents {
  private readonly changed: ChangedProcesses
  private readonly announced = new WeakSet<Session>()

  constructor(private readonly host: RpcPeer) {
    this.changed = new ChangedProcesses((facts) => host.notify('processes/changed', { process: facts }))
  }

  /** Registers the host's methods; before the channel's requests are looked at. */
  serve({ table, stopper }: ExecServer): void {
    const find = (id: ProcessId): ManagedProcess => {
      const process = table.find(id)
      if (!process) throw new RpcError('notFound', `process ${id} is not known any more`)
      return process
    }
    this.host
      .onRequest('processes/list', object({}), () => ({
        processes: table.all().map((process): ProcessFacts => process.facts()),
      }))
      .onRequest('processes/read', processRead, (params, { signal }) => readForHost(find(params.id), params, signal))
      .onRequest('processes/write', processWrite, ({ id, base64 }) => typeInto(find(id), base64))
      .onRequest('processes/endInput', processTarget, ({ id }) => {
        requireInput(find(id)).endInput()
        return {}
      })
      .onRequest('processes/signal', processSignal, async ({ id, signal }) => ({
        members: await stopper.signal(find(id), signal),
      }))
      .onRequest('processes/members', processTarget, async ({ id }) => ({
        members: (await find(id).tree?.members()) ?? [],
      }))
      .onRequest('processes/resize', processResize, ({ id, columns, rows }) => {
        find(id).resize(columns, rows)
        return {}
      })
  }

  onChanged(process: ManagedProcess): void {
    this.changed.note(process)
  }
  onForgotten(process: ManagedProcess): void {
    this.changed.drop(process)
    this.host.notify('processes/forgotten', { id: process.id })
  }

  /** Only agents are sessions of their own; our own programs act for sessions that they announce. */
  onOpened(session: Session, { identity }: WireConnection): void {
    if (identity.kind !== 'agent') return
    this.announced.add(session)
    const facts: SessionFacts = {
      id: session.id,
      agentName: session.clientName,
      via: identity.via,
      openedAtMs: session.openedAtMs,
    }
    this.host.notify('sessions/opened', facts)
  }
  onClosed(session: Session, reason: string): void {
    if (this.announced.has(session))
      this.host.notify('sessions/closed', { id: session.id, reason, closedAtMs: Date.now() })
  }
}

async function typeInto(process: ManagedProcess, base64: string): Promise<object> {
  requireInput(process)
  try {
    await process.write(new Base64Text(base64).decode())
    return {}
  } catch (error) {
    if (error instanceof Base64Error) throw new RpcError('invalidParams', `params.base64: ${error.message}`)
    if (error instanceof LineTooLongError) throw new RpcError('invalidRequest', error.message)
    throw error
  }
}

function requireInput(process: ManagedProcess): ManagedProcess {
  const { acceptsInput, state } = process.facts()
  if (acceptsInput) return process
  throw new RpcError(
    'invalidRequest',
    state === 'running'
      ? 'the process was started without an input, or its input has ended'
      : `the process is ${state}`,
  )
}
