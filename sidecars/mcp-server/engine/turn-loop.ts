/** The work of one turn: ask the model, run what it calls, ask again, until it has nothing left to do. */
import type { AgentMessageItem, ReasoningItem } from '../../protocol/app-server/thread-item.ts'
import { backOffMs, type ResponseEvent } from '../model/responses-client.ts'
import { ModelFailure } from '../model/model-failure.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import type { ActiveTurn } from './active-turn.ts'
import { pause } from './pause.ts'
import { PLAN_MODE_INSTRUCTIONS } from './prompt.ts'
import { ResponseReader, type TokenUsage } from './response-reader.ts'
import type { ModelInfo } from './services.ts'
import { toolCallOf } from './tool-call.ts'
import { ToolRuntime } from './tool-runtime.ts'
import { ToolSet } from './tool-set.ts'
import type { ThreadRuntime } from './thread-runtime.ts'

export interface TurnLoopHooks {
  /** Shows and records the input that is about to be given to the model. */
  onInput(turn: ActiveTurn): Promise<void>
  /** A response came to its end; tools that it called may still run. */
  onResponse(turn: ActiveTurn, response: { responseId: string | null; usage: TokenUsage | null }): void
  onUsage(turn: ActiveTurn, usage: TokenUsage, model: ModelInfo): void
  /** Shortens the history when the last response says it is about to overflow. */
  compactIfFull(turn: ActiveTurn, model: ModelInfo): Promise<void>
}

/**
 * Runs until the model is done. Rejects with ModelFailure, TurnStop, the abort's reason, or a fault of
 * ours; history and items are consistent in every case.
 */
export async function runTurnLoop(thread: ThreadRuntime, turn: ActiveTurn, hooks: TurnLoopHooks): Promise<void> {
  for (;;) {
    const model = thread.services.modelInfo(turn.settings.model)
    await hooks.compactIfFull(turn, model)
    await hooks.onInput(turn)
    const outcome = await sample(thread, turn, model, hooks)
    if (outcome.usage) hooks.onUsage(turn, outcome.usage, model)
    if (outcome.stop) throw outcome.stop
    turn.signal.throwIfAborted()
    if (outcome.toolCalls === 0 && turn.pending.length === 0 && !outcome.continues && !outcome.preempted) return
  }
}

interface SampleOutcome {
  usage: TokenUsage | null
  toolCalls: number
  continues: boolean
  /** New input arrived: the rest of the response was dropped. */
  preempted: boolean
  stop: Error | null
}

/** One response with its tool calls; a broken stream is asked for again, keeping what had finished. */
async function sample(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  model: ModelInfo,
  hooks: TurnLoopHooks,
): Promise<SampleOutcome> {
  const provider = thread.services.provider(turn.settings)
  const agentMode = thread.services.agents.allows(thread.id) ? turn.settings.multiAgentMode : null
  const tools = new ToolSet(thread, model, await thread.services.mcp.list(thread.id), agentMode)
  const runtime = new ToolRuntime(tools, turn, thread.services.nowMs)
  for (let attempt = 1; ; attempt++) {
    const reader = new ResponseReader(readerEvents(thread, turn, runtime))
    const stream = await readStream(thread, turn, model, tools, reader)
    if (stream.kind === 'failed') {
      const { failure } = stream
      const again = failure.retryable && attempt <= provider.stream_max_retries
      if (!again || runtime.started > 0) {
        await finishTools(thread, runtime)
        if (!again) throw failure
        // Its finished calls are answered now, so a new request simply goes on from there.
        return {
          usage: null,
          toolCalls: runtime.started,
          continues: true,
          preempted: false,
          stop: null,
        }
      }
      thread.emit('error', {
        threadId: thread.id,
        turnId: turn.id,
        error: {
          message: `Reconnecting... ${attempt}/${provider.stream_max_retries}`,
          codexErrorInfo: failure.kind,
          additionalDetails: failure.message,
        },
        willRetry: true,
      })
      await pause(backOffMs(attempt, failure.retryAfterMs), turn.signal)
      continue
    }
    if (stream.kind === 'completed') hooks.onResponse(turn, reader)
    const stop = await finishTools(thread, runtime)
    return {
      usage: reader.usage,
      toolCalls: runtime.started,
      continues: reader.continues,
      preempted: stream.kind === 'preempted',
      stop,
    }
  }
}

type StreamEnd = { kind: 'completed' } | { kind: 'preempted' } | { kind: 'failed'; failure: ModelFailure }

async function readStream(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  model: ModelInfo,
  tools: ToolSet,
  reader: ResponseReader,
): Promise<StreamEnd> {
  const { services } = thread
  const cut = new AbortController()
  const onTurnAbort = () => cut.abort(turn.signal.reason)
  turn.signal.addEventListener('abort', onTurnAbort, { once: true })
  let preempted = false
  const release = turn.whileStreaming(() => {
    preempted = true
    cut.abort(new Error('new input'))
  })
  try {
    turn.signal.throwIfAborted()
    const body = requestBody(thread, turn, model, tools)
    const stream = services.responses.stream(services.provider(turn.settings), body, {
      signal: cut.signal,
      headers: requestHeaders(thread, turn),
    })
    for await (const events of stream as AsyncIterable<ResponseEvent[]>) reader.take(events)
    return { kind: 'completed' }
  } catch (error) {
    turn.signal.throwIfAborted()
    if (preempted) return { kind: 'preempted' }
    if (error instanceof ModelFailure) return { kind: 'failed', failure: error }
    throw error
  } finally {
    release()
    turn.signal.removeEventListener('abort', onTurnAbort)
  }
}

function readerEvents(thread: ThreadRuntime, turn: ActiveTurn, runtime: ToolRuntime) {
  return {
    emit: thread.emit,
    threadId: thread.id,
    turnId: turn.id,
    nowMs: thread.services.nowMs,
    onItemDone: (item: ResponseItem) => {
      thread.record(item)
      const call = toolCallOf(item)
      if (call) runtime.start(call)
    },
    onItem: (item: AgentMessageItem | ReasoningItem, startedAtMs: number) => {
      if (item.type === 'agentMessage') turn.lastMessage = item
      thread.finishItem(turn.id, item, startedAtMs)
    },
  }
}

async function finishTools(thread: ThreadRuntime, runtime: ToolRuntime): Promise<Error | null> {
  const { items, stop } = await runtime.outputs()
  thread.record(...items)
  return stop
}

/** Built from parts that are JSON text already: a long history is not serialized again. */
function requestBody(thread: ThreadRuntime, turn: ActiveTurn, model: ModelInfo, tools: ToolSet): string {
  const { settings, options } = turn
  const member = (name: string, value: unknown): string =>
    value === undefined ? '' : `,${JSON.stringify(name)}:${JSON.stringify(value)}`
  const format = options.outputSchema
    ? { format: { type: 'json_schema', strict: true, schema: options.outputSchema, name: 'output' } }
    : {}
  const text = { ...(model.defaultVerbosity ? { verbosity: model.defaultVerbosity } : {}), ...format }
  const effort = settings.effort ?? model.defaultEffort
  const plan =
    settings.collaborationMode?.mode === 'plan'
      ? `,${JSON.stringify({ type: 'message', role: 'developer', content: [{ type: 'input_text', text: settings.collaborationMode.settings.developer_instructions ?? PLAN_MODE_INSTRUCTIONS }] })}`
      : ''
  return (
    `{"model":${JSON.stringify(settings.model)},"stream":true,"store":false,"input":[${thread.history.inputText}${plan}],"tools":${tools.specsText},` +
    `"tool_choice":"auto","parallel_tool_calls":${model.parallelToolCalls},"include":["reasoning.encrypted_content"]` +
    member('prompt_cache_key', thread.id) +
    member(
      'reasoning',
      model.reasoning
        ? {
            ...(effort ? { effort } : {}),
            ...(settings.summary && settings.summary !== 'none' ? { summary: settings.summary } : {}),
          }
        : undefined,
    ) +
    member('text', Object.keys(text).length > 0 ? text : undefined) +
    member('service_tier', options.serviceTier ?? settings.serviceTier ?? undefined) +
    member('client_metadata', { thread_id: thread.id, turn_id: turn.id }) +
    '}'
  )
}

function requestHeaders(thread: ThreadRuntime, turn: ActiveTurn): Record<string, string> {
  const { originator, version } = thread.services
  return {
    'user-agent': `gatehouse/${version}`,
    originator: originator.replaceAll(/[^\x20-\x7e]/g, '?'),
    'session-id': thread.id,
    'thread-id': thread.id,
    'x-client-request-id': turn.id,
  }
}
