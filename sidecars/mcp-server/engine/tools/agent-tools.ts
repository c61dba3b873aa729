/** The tools with which a model starts, tells, waits for, ends and reopens child agents. */
import type { AgentState, AgentToolCallItem, UserInput } from '../../../protocol/app-server/thread-item.ts'
import { AgentRefused, stateForModel, untilOneIsFinal } from '../child-agents.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import type { ActiveTurn } from '../active-turn.ts'
import { needText, readBoolean, readNumber, readText, readTexts } from '../tool-arguments.ts'
import { argumentsOf, ToolFailure, type ToolCall, type ToolHandler } from '../tool-call.ts'

/** How long `wait_agent` waits, and what it may be told to. */
export const WAIT_MS = { default: 30_000, min: 10_000, max: 3_600_000 }

type Arguments = Record<string, unknown>
type Known = Pick<AgentToolCallItem, 'tool'> & Partial<AgentToolCallItem>
/** What a call has come to: for people, and for the model. */
interface Outcome {
  item: Partial<AgentToolCallItem>
  answer: unknown
}

/** By name, in the namespace of AGENT_NAMESPACE. */
export function agentTools(thread: ThreadRuntime): Map<string, ToolHandler> {
  const { agents } = thread.services
  const statesOf = (id: string, state: AgentState) => ({ receiverThreadIds: [id], agentsStates: { [id]: state } })
  return new Map<string, ToolHandler>([
    [
      'spawn_agent',
      handler(thread, false, (args, turn) => {
        const input = inputOf(args)
        const model = readText(args, 'model') ?? null
        const effort = readText(args, 'reasoning_effort') ?? null
        const task = { input, forkContext: readBoolean(args, 'fork_context') ?? false, model, effort }
        const known: Known = {
          tool: 'spawnAgent',
          prompt: promptOf(input),
          model: model ?? '',
          reasoningEffort: effort,
        }
        return [
          known,
          async () => {
            const agent = await agents.spawn(thread.id, turn, task)
            const state = { status: 'pendingInit', message: null } as const
            const { id: agent_id, nickname, effort: reasoningEffort } = agent
            const item = { ...statesOf(agent_id, state), model: agent.model, reasoningEffort }
            return { item, answer: { agent_id, nickname } }
          },
        ]
      }),
    ],
    [
      'send_input',
      handler(thread, true, (args, turn) => {
        const target = needText(args, 'target')
        const input = inputOf(args)
        const interrupt = readBoolean(args, 'interrupt') ?? false
        return [
          { tool: 'sendInput', receiverThreadIds: [target], prompt: promptOf(input) },
          async () => {
            const submission_id = await agents.send(thread.id, turn, target, input, interrupt)
            return { item: statesOf(target, agents.state(thread.id, target)), answer: { submission_id } }
          },
        ]
      }),
    ],
    [
      'wait_agent',
      handler(thread, true, (args, _, signal) => {
        const targets = [...new Set(readTexts(args, 'targets') ?? [])]
        if (targets.length === 0) throw new ToolFailure('agent ids must be non-empty')
        const asked = readNumber(args, 'timeout_ms') ?? WAIT_MS.default
        const timeoutMs = Math.min(WAIT_MS.max, Math.max(WAIT_MS.min, asked))
        return [
          { tool: 'wait', receiverThreadIds: targets },
          async () => {
            const states = await untilOneIsFinal(agents, thread.id, targets, timeoutMs, signal)
            const status = Object.fromEntries(Object.entries(states).map(([id, state]) => [id, stateForModel(state)]))
            const timed_out = Object.keys(states).length === 0
            return { item: { agentsStates: states }, answer: { status, timed_out } }
          },
        ]
      }),
    ],
    [
      'close_agent',
      handler(thread, false, (args) => {
        const target = needText(args, 'target')
        return [
          { tool: 'closeAgent', receiverThreadIds: [target] },
          async () => {
            const previous = await agents.close(thread.id, target)
            return { item: statesOf(target, previous), answer: { previous_status: stateForModel(previous) } }
          },
        ]
      }),
    ],
    [
      'resume_agent',
      handler(thread, false, (args, turn) => {
        const id = needText(args, 'id')
        return [
          { tool: 'resumeAgent', receiverThreadIds: [id] },
          async () => {
            const state = await agents.resume(thread.id, turn, id)
            return { item: statesOf(id, state), answer: { status: stateForModel(state) } }
          },
        ]
      }),
    ],
  ])
}

/** Shows a call as an item around its work. Arguments that cannot be read fail before there is an item. */
function handler(
  thread: ThreadRuntime,
  parallel: boolean,
  plan: (args: Arguments, turn: ActiveTurn, signal: AbortSignal) => [Known, () => Promise<Outcome>],
): ToolHandler {
  return {
    parallel,
    run: async (call: ToolCall, turn, signal) => {
      const [known, work] = plan(argumentsOf(call), turn, signal)
      const item: AgentToolCallItem = { ...blank(thread.id, call.callId), ...known }
      const startedAtMs = thread.beginItem(turn.id, item)
      const end = (change: Partial<AgentToolCallItem>) =>
        thread.finishItem(turn.id, { ...item, ...change }, startedAtMs)
      try {
        const outcome = await work()
        end({ ...outcome.item, status: 'completed' })
        return { content: JSON.stringify(outcome.answer), success: true }
      } catch (error) {
        end({ status: signal.aborted ? 'interrupted' : 'failed' })
        signal.throwIfAborted()
        throw error instanceof AgentRefused ? new ToolFailure(error.message) : error
      }
    },
  }
}

const blank = (senderThreadId: string, id: string): Omit<AgentToolCallItem, 'tool'> => ({
  type: 'collabAgentToolCall',
  id,
  status: 'inProgress',
  senderThreadId,
  receiverThreadIds: [],
  prompt: null,
  model: null,
  reasoningEffort: null,
  agentsStates: {},
})

/** Words, or parts of other kinds; one of the two. */
function inputOf(args: Arguments): UserInput[] {
  const message = readText(args, 'message')
  const { items } = args
  if ((message === undefined) === (items === undefined || items === null))
    throw new ToolFailure('Provide one of: message or items')
  if (message !== undefined) {
    if (message.trim() === '') throw new ToolFailure('message must not be empty')
    return [{ type: 'text', text: message }]
  }
  if (!Array.isArray(items) || items.length === 0) throw new ToolFailure('items must be a non-empty list')
  return items.map((item: unknown, i) => partOf((item ?? {}) as Record<string, unknown>, `items[${i}]`))
}

function partOf(item: Record<string, unknown>, at: string): UserInput {
  const need = (name: string): string => {
    if (typeof item[name] === 'string') return item[name]
    throw new ToolFailure(`failed to parse function arguments: missing field \`${at}.${name}\``)
  }
  switch (item.type) {
    case 'text':
      return { type: 'text', text: need('text') }
    case 'image':
      return { type: 'image', url: need('image_url') }
    case 'audio':
      return { type: 'audio', url: need('audio_url') }
    case 'local_image':
      return { type: 'localImage', path: need('path') }
    case 'local_audio':
      return { type: 'localAudio', path: need('path') }
    case 'skill':
    case 'mention':
      return { type: item.type, name: need('name'), path: need('path') }
    default:
      throw new ToolFailure(
        `failed to parse function arguments: \`${at}.type\` must be text, image, audio, local_image, local_audio, skill or mention`,
      )
  }
}

/** What people read of it. */
const promptOf = (input: readonly UserInput[]): string =>
  input.map((part) => (part.type === 'text' ? part.text : 'name' in part ? part.name : `[${part.type}]`)).join('\n')
