import { object, unknown } from '../../sidecars/protocol/decode.ts'
import {
  processChanged,
  processForgotten,
  processList,
  processMembers,
  processReadResult,
  sessionClosed,
  sessionFacts,
  type ExecServerConfig,
  type ProcessFacts,
  type ProcessMember,
  type ProcessSignalName,
  type SessionFacts,
} from '../../sidecars/protocol/host-channel.ts'
import type { Infer } from '../../sidecars/protocol/decode.ts'
import type { ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { SidecarLink } from './sidecar-link.ts'

/** A person waits for these; a sidecar that takes longer is not well. */
const ANSWER_MS = 15_000
const done = object({})

export interface SessionNews {
  onOpened(facts: SessionFacts, generation: number): void
  onUpdated(facts: SessionFacts): void
  onClosed(id: SessionId, reason: string | undefined): void
}
export interface ExecServerNews extends SessionNews {
  onProcess(facts: ProcessFacts, generation: number): void
  onForgotten(id: ProcessId): void
}

/** Registers for what a sidecar tells about sessions. */
export function receiveSessions(link: SidecarLink, news: SessionNews): void {
  link.onNotification('sessions/opened', sessionFacts, (facts) => news.onOpened(facts, link.generation))
  link.onNotification('sessions/updated', sessionFacts, (facts) => news.onUpdated(facts))
  link.onNotification('sessions/closed', sessionClosed, ({ id, reason }) => news.onClosed(id, reason))
}

/** The host's side of its channel to the exec server. Calls fail at once with `unavailable` while it is down. */
export class ExecServerClient {
  constructor(private readonly link: SidecarLink) {}

  receive(news: ExecServerNews): void {
    receiveSessions(this.link, news)
    this.link.onNotification('processes/changed', processChanged, ({ process }) =>
      news.onProcess(process, this.link.generation),
    )
    this.link.onNotification('processes/forgotten', processForgotten, ({ id }) => news.onForgotten(id))
  }

  configure(config: ExecServerConfig): Promise<unknown> {
    return this.link.request('sidecar/configure', { config }, unknown, { timeoutMs: ANSWER_MS })
  }

  async list(): Promise<ProcessFacts[]> {
    return (await this.link.request('processes/list', {}, processList, { timeoutMs: ANSWER_MS })).processes
  }

  /** Output with seq > afterSeq; waits up to `waitMs` when there is none. */
  read(params: {
    id: ProcessId
    afterSeq: number
    maxBytes: number
    waitMs?: number
  }): Promise<Infer<typeof processReadResult>> {
    return this.link.request('processes/read', params, processReadResult, {
      timeoutMs: ANSWER_MS + (params.waitMs ?? 0),
    })
  }

  /** Waits as long as the process takes to read. */
  async write(id: ProcessId, bytes: Uint8Array): Promise<void> {
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    await this.link.request('processes/write', { id, base64 }, done)
  }
  async endInput(id: ProcessId): Promise<void> {
    await this.link.request('processes/endInput', { id }, done, { timeoutMs: ANSWER_MS })
  }
  /** Resolves with who was hit. */
  async signal(id: ProcessId, signal: ProcessSignalName): Promise<ProcessMember[]> {
    const { members } = await this.link.request('processes/signal', { id, signal }, processMembers, {
      timeoutMs: ANSWER_MS,
    })
    return members
  }
  async members(id: ProcessId): Promise<ProcessMember[]> {
    return (await this.link.request('processes/members', { id }, processMembers, { timeoutMs: ANSWER_MS })).members
  }
  async resize(id: ProcessId, columns: number, rows: number): Promise<void> {
    await this.link.request('processes/resize', { id, columns, rows }, done, { timeoutMs: ANSWER_MS })
  }
}
