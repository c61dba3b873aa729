/** What the Sessions page reads from the feed. */
import type { ApprovalView, ConnectionView, Posture, ProcessView, SessionView } from '../../preload/api.ts'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'
import { commandText } from '../approvals/subject-words.ts'

type Tables = FeedState['tables']

const byActivity = memoizeLast((table: Tables['sessions']) =>
  [...table.rows.values()].sort((a, b) => b.lastActivityAtMs - a.lastActivityAtMs || (a.id < b.id ? -1 : 1)),
)

/** Latest activity first. */
export function selectSessions(state: FeedState): readonly SessionView[] {
  return byActivity(state.tables.sessions)
}

/** Everything that is searched besides a session's own words, by session: its commands and hosts. */
const searchTexts = memoizeLast((processes: Tables['processes'], connections: Tables['connections']) => {
  const parts = new Map<string, Set<string>>()
  const add = (sessionId: string, text: string): void => {
    const set = parts.get(sessionId) ?? new Set()
    parts.set(sessionId, set.add(text))
  }
  for (const process of processes.rows.values()) add(process.sessionId, commandText(process.argv).toLowerCase())
  for (const { sessionId, host } of connections.rows.values()) if (sessionId !== null) add(sessionId, host)
  return parts
})

export interface SessionFilter {
  query: string
  /** Empty = all. */
  postures: ReadonlySet<Posture>
}

/** Sessions whose title, agent, folder, last line, commands or hosts contain what is looked for. */
export function filterSessions(state: FeedState, filter: SessionFilter): readonly SessionView[] {
  const sessions = selectSessions(state)
  const query = filter.query.trim().toLowerCase()
  if (query === '' && filter.postures.size === 0) return sessions
  const texts = query === '' ? null : searchTexts(state.tables.processes, state.tables.connections)
  return sessions.filter((session) => {
    if (filter.postures.size > 0 && !filter.postures.has(session.posture)) return false
    if (texts === null) return true
    const own = `${session.title}\n${session.agentName}\n${session.cwd ?? ''}\n${session.lastLine}`.toLowerCase()
    return own.includes(query) || [...(texts.get(session.id) ?? [])].some((text) => text.includes(query))
  })
}

/** `filterSessions` as a selector that returns the same list while the tables it reads are the same. */
export function memoizeSessionFilter(filter: SessionFilter): (state: FeedState) => readonly SessionView[] {
  const needsTexts = filter.query.trim() !== ''
  let latest: FeedState | undefined
  const compute = memoizeLast((..._tables: readonly unknown[]) => (latest ? filterSessions(latest, filter) : []))
  return (state) => {
    latest = state
    const { sessions, processes, connections } = state.tables
    return needsTexts ? compute(sessions, processes, connections) : compute(sessions)
  }
}

export type SessionGrouping = 'time' | 'folder' | 'agent'

/** Groups in order of their latest session; by time there is one group without a name. */
export function groupSessions(
  sessions: readonly SessionView[],
  by: SessionGrouping,
): { name: string | null; sessions: SessionView[] }[] {
  if (by === 'time') return [{ name: null, sessions: [...sessions] }]
  const groups = new Map<string, SessionView[]>()
  for (const session of sessions) {
    const name = by === 'folder' ? (session.cwd ?? 'No folder') : session.agentName
    const group = groups.get(name)
    if (group) group.push(session)
    else groups.set(name, [session])
  }
  return [...groups].map(([name, grouped]) => ({ name, sessions: grouped }))
}

const processesBySession = memoizeLast((table: Tables['processes']) =>
  groupRows(table.rows.values(), (row) => row.sessionId),
)
const requestsBySession = memoizeLast((table: Tables['approvals']) =>
  groupRows(table.rows.values(), (row) => row.sessionId),
)
const connectionsBySession = memoizeLast((table: Tables['connections']) =>
  groupRows(table.rows.values(), (row) => row.sessionId),
)

function groupRows<V>(rows: Iterable<V>, keyOf: (row: V) => string | null): ReadonlyMap<string, readonly V[]> {
  const groups = new Map<string, V[]>()
  for (const row of rows) {
    const key = keyOf(row)
    if (key === null) continue
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return groups
}

const NONE: readonly never[] = []

export function selectProcessesOfSession(state: FeedState, sessionId: string): readonly ProcessView[] {
  return processesBySession(state.tables.processes).get(sessionId) ?? NONE
}

export function selectRequestsOfSession(state: FeedState, sessionId: string): readonly ApprovalView[] {
  return requestsBySession(state.tables.approvals).get(sessionId) ?? NONE
}

export function selectConnectionsOfSession(state: FeedState, sessionId: string): readonly ConnectionView[] {
  return connectionsBySession(state.tables.connections).get(sessionId) ?? NONE
}
