/** Shortens a thread's history to a hand-over that the model writes itself. */
import { ModelFailure } from '../model/model-failure.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import type { ActiveTurn } from './active-turn.ts'
import { textMessage } from './model-history.ts'
import { approximateTokens } from './output-text.ts'
import { COMPACTION_PREFIX, COMPACTION_PROMPT } from './prompt.ts'
import { ResponseReader, type TokenUsage } from './response-reader.ts'
import type { ThreadRuntime } from './thread-runtime.ts'
import { uuid7 } from './uuid7.ts'

/** The newest messages of the person are kept word for word up to this many tokens. */
const KEPT_USER_TOKENS = 20_000

/**
 * Asks for the hand-over and replaces the history: opening messages, recent words of the person, the
 * hand-over. When even this request does not fit, the oldest items are left out one by one.
 */
export async function compact(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  opening: ResponseItem[],
  prompt: string | null,
): Promise<TokenUsage | null> {
  const item = { type: 'contextCompaction' as const, id: uuid7() }
  const startedAtMs = thread.beginItem(turn.id, item)
  const { summary, usage } = await handOver(thread, turn, prompt ?? COMPACTION_PROMPT)
  const message = `${COMPACTION_PREFIX}\n${summary}`
  const history = [...opening, ...recentUserMessages(thread.history.all()), textMessage('user', message)]
  thread.history.replace(history)
  thread.recordCompaction(message, history)
  thread.finishItem(turn.id, item, startedAtMs)
  thread.emit('thread/compacted', { threadId: thread.id, turnId: turn.id })
  return usage
}

async function handOver(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  prompt: string,
): Promise<{ summary: string; usage: TokenUsage | null }> {
  const { services } = thread
  const items = [...thread.history.all()]
  for (;;) {
    let summary = ''
    const reader = new ResponseReader({
      emit: () => undefined, // The hand-over is not a message to the person.
      threadId: thread.id,
      turnId: turn.id,
      nowMs: services.nowMs,
      onItemDone: () => undefined,
      onItem: (item) => {
        if (item.type === 'agentMessage') summary = item.text
      },
    })
    const body = JSON.stringify({
      model: turn.settings.model,
      stream: true,
      store: false,
      input: [...items, textMessage('user', prompt)],
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: thread.id,
    })
    try {
      const headers = { 'user-agent': `gatehouse/${services.version}`, 'thread-id': thread.id, 'session-id': thread.id }
      for await (const events of services.responses.stream(services.provider(turn.settings), body, {
        signal: turn.signal,
        headers,
      }))
        reader.take(events)
      return { summary, usage: reader.usage }
    } catch (error) {
      if (!(error instanceof ModelFailure) || error.kind !== 'contextWindowExceeded' || items.length <= 1) throw error
      items.shift()
    }
  }
}

function recentUserMessages(history: readonly ResponseItem[]): ResponseItem[] {
  const kept: ResponseItem[] = []
  let tokens = 0
  for (const item of [...history].reverse()) {
    if (item.type !== 'message' || item.role !== 'user') continue
    const text = JSON.stringify(item.content)
    if (text.includes('<environment_context>') || text.includes(COMPACTION_PREFIX)) continue
    tokens += approximateTokens(text.length)
    if (tokens > KEPT_USER_TOKENS) break
    kept.unshift(item)
  }
  return kept
}
