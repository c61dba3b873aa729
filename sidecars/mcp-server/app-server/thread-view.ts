/** Stored or loaded threads as the wire has them. */
import type { Thread, ThreadStatus, Turn } from '../../protocol/app-server/thread.ts'
import type { TurnText } from '../rollout/read-turn-texts.ts'
import { agentOf, type StoredThread } from '../rollout/stored-thread.ts'
import { JsonText } from './json-text.ts'

const seconds = (ms: number): number => Math.floor(ms / 1000)

export function threadView(stored: StoredThread, status: ThreadStatus, turns: Turn[], ephemeral = false): Thread {
  const agent = agentOf(stored.source)
  return {
    id: stored.id,
    sessionId: stored.sessionId,
    preview: stored.preview,
    ephemeral,
    historyMode: stored.historyMode,
    modelProvider: stored.modelProvider,
    model: stored.model,
    reasoningEffort: stored.reasoningEffort,
    createdAt: seconds(stored.createdAtMs),
    updatedAt: seconds(stored.updatedAtMs),
    recencyAt: seconds(stored.updatedAtMs),
    status,
    path: ephemeral ? null : stored.path,
    cwd: stored.cwd,
    cliVersion: stored.cliVersion,
    source: stored.source,
    originator: stored.originator,
    threadSource: stored.threadSource,
    name: stored.name,
    gitInfo: stored.gitInfo,
    turns,
    forkedFromId: stored.forkedFromId,
    parentThreadId: stored.parentThreadId,
    attachedToThreadId: null,
    agentNickname: agent?.nickname ?? null,
    agentRole: agent?.role ?? null,
    section: null,
    sectionEnteredAt: null,
    projectId: stored.projectId,
    environments: [{ environmentId: 'local', cwd: stored.cwd, runtimeWorkspaceRoots: [stored.cwd] }],
    extra: null,
    canAcceptDirectInput: true,
    daybreakEnabled: false,
  }
}

/** A turn that no process works on any more was interrupted, whatever its last record says. */
export function settledTurns<T extends Pick<Turn, 'id' | 'status'>>(
  turns: readonly T[],
  activeTurnId: string | null,
): T[] {
  return turns.map((turn) =>
    turn.status === 'inProgress' && turn.id !== activeTurnId ? { ...turn, status: 'interrupted' } : turn,
  )
}

/** Turns for the wire whose items are text already. */
export function turnsText(turns: readonly TurnText[], activeTurnId: string | null): JsonText {
  const pieces: (string | Buffer)[] = []
  for (const { turn, items } of turns) {
    const [settled] = settledTurns([turn], activeTurnId)
    pieces.push(`${pieces.length > 0 ? ',' : '['}${JSON.stringify(settled).slice(0, -1)},"items":[`, ...items, ']}')
  }
  pieces.push(pieces.length > 0 ? ']' : '[]')
  return new JsonText(pieces)
}
