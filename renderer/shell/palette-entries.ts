/** What the palette can find: actions, waiting requests, sessions, processes, hosts. */
import type { Action } from '../components/actions.tsx'
import { go, place, type Place } from '../components/places.ts'
import { commandText, requestSentence, shorten } from '../approvals/subject-words.ts'
import { selectPending } from '../approvals/selectors.ts'
import type { FeedState } from '../feed/feed-state.ts'

export interface PaletteEntry {
  id: string
  kind: 'Action' | 'Request' | 'Session' | 'Process' | 'Host'
  text: string
  /** Shown beside it: a chord, an agent, a state. */
  aside: string
  chord: string | null
  run: () => void
}

const HOSTS_KNOWN = 2_000

export function paletteEntries(state: FeedState, actions: readonly Action[]): PaletteEntry[] {
  const goTo = (id: string, kind: PaletteEntry['kind'], text: string, aside: string, target: Place): PaletteEntry => ({
    id: `${kind} ${id}`,
    kind,
    text: shorten(text, 200),
    aside,
    chord: null,
    run: () => go(target),
  })
  const byLatest = <V>(rows: ReadonlyMap<string, V>, atMs: (row: V) => number): V[] =>
    [...rows.values()].sort((a, b) => atMs(b) - atMs(a))
  const { sessions, processes } = state.tables
  return [
    ...actions
      .filter((action) => !action.hidden)
      .map(({ id, title, chord, run }): PaletteEntry => ({
        id: `Action ${id}`,
        kind: 'Action',
        text: title,
        aside: '',
        chord: chord ?? null,
        run,
      })),
    ...selectPending(state).map((request) =>
      goTo(request.id, 'Request', requestSentence(request), 'waits for you', place('inbox', request.id)),
    ),
    ...byLatest(sessions.rows, (row) => row.lastActivityAtMs).map((row) =>
      goTo(row.id, 'Session', row.title || row.agentName, row.agentName, place('sessions', row.id)),
    ),
    ...byLatest(processes.rows, (row) => row.startedAtMs).map((row) =>
      goTo(row.id, 'Process', commandText(row.argv), row.state, place('processes', row.id)),
    ),
    ...latestHosts(state).map((host) =>
      goTo(host, 'Host', host, 'connections', place('network', null, { by: 'host', value: host })),
    ),
  ]
}

function latestHosts(state: FeedState): string[] {
  const hosts = new Set<string>()
  for (const { host } of state.tables.connections.rows.values()) {
    hosts.add(host)
    if (hosts.size === HOSTS_KNOWN) break
  }
  return [...hosts]
}
