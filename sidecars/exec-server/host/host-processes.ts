import { object } from '../../protocol/decode.ts'
import {
  processRead,
  processSignal,
  processTarget,
  processWrite,
  type ProcessFacts,
} from '../../protocol/host-channel.ts'
import type { ProcessId } from '../../protocol/ids.ts'
import type { RpcPeer } from '../../rpc/peer.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ExecServer } from '../exec-server.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'
import type { ProcessTableEvents } from '../processes/process-table.ts'
import type { Session } from '../sessions/session.ts'
import type { SessionStoreEvents } from '../sessions/session-store.ts'
import { Base64Text } from '../wire/base64-text.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { ChangedProcesses } from './changed-processes.ts'

/** What the host learns about processes and sessions, and what it can do to them. */
export class HostProcesses implements ProcessTableEvents, SessionStoreEvents {
  private readonly changed: ChangedProcesses

  constructor(private readonly host: RpcPeer) {
    this.changed = new ChangedProcesses((facts) => host.notify('processes/changed', { process: facts }))
  }

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
      .onRequest('processes/read', processRead, async ({ id, afterSeq, maxBytes, waitMs }, { signal }) => {
        const process = find(id)
        const endsAtMs = performance.now() + waitMs
        for (;;) {
          const { chunks, gap } = await process.log.read(afterSeq, maxBytes, Number.MAX_SAFE_INTEGER)
          const leftMs = endsAtMs - performance.now()
          if (chunks.length > 0 || gap || process.isClosed || leftMs <= 0 || signal.aborted)
            return {
              chunks: chunks.map(({ seq, stream, bytes }) => ({ seq, stream, base64: bytes.toString('base64') })),
              gap,
              nextSeq: (chunks.at(-1)?.seq ?? process.log.nextSeq - 1) + 1,
              state: process.facts(),
            }
          await process.nextEvent(leftMs, signal)
        }
      })
      .onRequest('processes/write', processWrite, ({ id, base64 }) => {
        find(id).write(new Base64Text(base64).decode())
        return {}
      })
      .onRequest('processes/endInput', processTarget, ({ id }) => {
        find(id).endInput()
        return {}
      })
      .onRequest('processes/signal', processSignal, ({ id }) => {
        stopper.terminate(find(id))
        return { members: [] }
      })
  }

  onChanged(process: ManagedProcess): void {
    this.changed.note(process)
  }
  onForgotten(process: ManagedProcess): void {
    this.changed.drop(process)
    this.host.notify('processes/forgotten', { id: process.id })
  }
  onOpened(session: Session, { identity }: WireConnection): void {
    if (identity.kind !== 'agent') return
    this.host.notify('sessions/opened', {
      id: session.id,
      agentName: session.clientName,
      via: identity.via,
      openedAtMs: session.openedAtMs,
    })
  }
  onClosed(session: Session, reason: string): void {
    this.host.notify('sessions/closed', { id: session.id, reason, closedAtMs: Date.now() })
  }
}
