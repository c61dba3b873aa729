/** Turns the event stream of one model response into items, deltas and tool calls. */
import type { AgentMessageItem, ReasoningItem } from '../../protocol/app-server/thread-item.ts'
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { ResponseEvent } from '../model/responses-client.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'

export interface TokenUsage {
  inputTokens: number
  cachedInputTokens: number
  outputTokens: number
  reasoningOutputTokens: number
  totalTokens: number
}

export interface ResponseReaderEvents {
  emit: Emit
  threadId: string
  turnId: string
  nowMs: () => number
  /** A finished response item: goes into history; a tool call starts now. */
  onItemDone(item: ResponseItem): void
  /** A finished message or reasoning item for people. */
  onItem(item: AgentMessageItem | ReasoningItem, startedAtMs: number): void
}

interface CompletedResponse {
  id?: unknown
  usage?: Record<string, unknown>
  end_turn?: unknown
}
interface Open {
  item: AgentMessageItem | ReasoningItem
  startedAtMs: number
}

/** One per response; feed it the events in order. */
export class ResponseReader {
  usage: TokenUsage | null = null
  /** Of a response that came to its end. */
  responseId: string | null = null
  /** The server wants another request although no tool was called. */
  continues = false
  private readonly open = new Map<string, Open>()

  constructor(private readonly events: ResponseReaderEvents) {}

  /** Deltas of one item that arrived together go out as one. */
  take(batch: readonly ResponseEvent[]): void {
    for (let i = 0; i < batch.length; i++) {
      const event = batch[i]!
      if (event.type !== 'response.output_text.delta') {
        this.takeOne(event)
        continue
      }
      let delta = String(event.delta)
      while (batch[i + 1]?.type === event.type && batch[i + 1]!.item_id === event.item_id)
        delta += String(batch[++i]!.delta)
      this.messageDelta(String(event.item_id), delta)
    }
  }

  private takeOne(event: ResponseEvent): void {
    switch (event.type) {
      case 'response.output_item.added':
        this.begin(event.item as ResponseItem)
        return
      case 'response.reasoning_summary_part.added':
        this.emitFor(event, (itemId, { threadId, turnId, emit }) =>
          emit('item/reasoning/summaryPartAdded', {
            threadId,
            turnId,
            itemId,
            summaryIndex: Number(event.summary_index),
          }),
        )
        return
      case 'response.reasoning_summary_text.delta':
        this.emitFor(event, (itemId, { threadId, turnId, emit }) =>
          emit('item/reasoning/summaryTextDelta', {
            threadId,
            turnId,
            itemId,
            delta: String(event.delta),
            summaryIndex: Number(event.summary_index),
          }),
        )
        return
      case 'response.reasoning_text.delta':
        this.emitFor(event, (itemId, { threadId, turnId, emit }) =>
          emit('item/reasoning/textDelta', {
            threadId,
            turnId,
            itemId,
            delta: String(event.delta),
            contentIndex: Number(event.content_index),
          }),
        )
        return
      case 'response.output_item.done':
        this.finish(event.item as ResponseItem)
        return
      case 'response.completed':
        this.complete(event.response as CompletedResponse | undefined)
    }
  }

  private begin(item: ResponseItem): void {
    const view = viewOf(item)
    if (!view) return
    const startedAtMs = this.events.nowMs()
    const empty = view.type === 'agentMessage' ? { ...view, text: '' } : { ...view, summary: [], content: [] }
    this.open.set(view.id, { item: empty, startedAtMs })
    const { emit, threadId, turnId } = this.events
    emit('item/started', { item: empty, threadId, turnId, startedAtMs })
  }

  private messageDelta(itemId: string, delta: string): void {
    const { emit, threadId, turnId } = this.events
    if (!this.open.has(itemId)) this.begin({ type: 'message', role: 'assistant', id: itemId, content: [] })
    emit('item/agentMessage/delta', { threadId, turnId, itemId, delta })
  }

  private emitFor(event: ResponseEvent, send: (itemId: string, events: ResponseReaderEvents) => void): void {
    const itemId = String(event.item_id)
    if (!this.open.has(itemId)) this.begin({ type: 'reasoning', id: itemId, summary: [] })
    send(itemId, this.events)
  }

  private finish(item: ResponseItem): void {
    // History first: an item that people are told of is in the model's account, too.
    this.events.onItemDone(withoutStatus(item))
    const view = viewOf(item)
    if (!view) return
    if (!this.open.has(view.id)) this.begin(item)
    const { startedAtMs } = this.open.get(view.id)!
    this.open.delete(view.id)
    this.events.onItem(view, startedAtMs)
  }

  private complete(response: CompletedResponse | undefined): void {
    this.responseId = typeof response?.id === 'string' ? response.id : null
    this.continues = response?.end_turn === false
    const usage = response?.usage
    if (!usage) return
    const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
    const input = usage.input_tokens_details as Record<string, unknown> | undefined
    const output = usage.output_tokens_details as Record<string, unknown> | undefined
    this.usage = {
      inputTokens: number(usage.input_tokens),
      cachedInputTokens: number(input?.cached_tokens),
      outputTokens: number(usage.output_tokens),
      reasoningOutputTokens: number(output?.reasoning_tokens),
      totalTokens: number(usage.total_tokens),
    }
  }
}

/** History keeps items as the next request sends them: without the status that only answers have. */
function withoutStatus(item: ResponseItem): ResponseItem {
  if (item.status === undefined) return item
  const { status: _, ...rest } = item
  return rest
}

function viewOf(item: ResponseItem): AgentMessageItem | ReasoningItem | null {
  const id = String(item.id ?? '')
  if (item.type === 'message' && item.role === 'assistant') {
    const parts = Array.isArray(item.content)
      ? (item.content as { type?: string; text?: string; refusal?: string }[])
      : []
    const text = parts.map((part) => part.text ?? part.refusal ?? '').join('')
    return {
      type: 'agentMessage',
      id,
      text,
      phase: (item.phase as AgentMessageItem['phase'] | undefined) ?? null,
      memoryCitation: null,
    }
  }
  if (item.type === 'reasoning') {
    const texts = (list: unknown): string[] =>
      Array.isArray(list) ? (list as { text?: string }[]).map((part) => part.text ?? '') : []
    return { type: 'reasoning', id, summary: texts(item.summary), content: texts(item.content) }
  }
  return null
}
