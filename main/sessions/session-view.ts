import type { Posture, SessionView } from '../../preload/api.ts'
import type { SessionFacts, SidecarName } from '../../sidecars/protocol/host-channel.ts'

/** What belongs to a session elsewhere in the host, counted. */
export interface SessionCounts {
  /** Processes that have not ended. */
  runningCount: number
  processCount: number
  pendingCount: number
  blockedCount: number
}

export interface SessionRecord {
  facts: SessionFacts
  /** The sidecar that announced it; null for the host's own. */
  source: { sidecar: SidecarName; generation: number } | null
  closed: { atMs: number; reason: string | undefined; isLost: boolean } | null
  lastActivityAtMs: number
  /** The newest thing it did, in a line. */
  lastLine: string
  /** From its first request, while the agent gave no title. */
  derivedTitle: string | null
}

/** What the window shows of a session. */
export function sessionView(record: SessionRecord, counts: SessionCounts): SessionView {
  const { facts, closed, lastActivityAtMs, lastLine } = record
  return {
    id: facts.id,
    agentName: facts.agentName,
    agentVersion: facts.agentVersion ?? null,
    title: sessionTitle(record),
    cwd: facts.cwd ?? null,
    via: facts.via,
    posture: postureOf(record, counts),
    openedAtMs: facts.openedAtMs,
    closedAtMs: closed?.atMs ?? null,
    lastActivityAtMs,
    lastLine,
    processCount: counts.processCount,
    pendingCount: counts.pendingCount,
    blockedCount: counts.blockedCount,
  }
}

/** The agent's title, else its first request, else its folder, else its name. */
export function sessionTitle({ facts, derivedTitle }: SessionRecord): string {
  const folder = facts.cwd
    ?.replace(/[/\\]+$/, '')
    .split(/[/\\]/)
    .at(-1)
  return facts.title || derivedTitle || folder || facts.agentName
}

function postureOf({ closed, facts }: SessionRecord, counts: SessionCounts): Posture {
  if (closed) return closed.isLost ? 'failed' : 'ended'
  if (counts.pendingCount > 0) return 'waits'
  return counts.runningCount > 0 || facts.isWorking === true ? 'working' : 'idle'
}
