/** The tools for child agents as the model is told of them; names and parameters are those models are trained on. */
import { delegationPolicy } from './child-agents.ts'
import type { MultiAgentMode } from './thread-settings.ts'

export const AGENT_NAMESPACE = 'multi_agent_v1'

type Properties = Record<string, unknown>
const text = (description: string) => ({ type: 'string', description })
const flag = (description: string) => ({ type: 'boolean', description })

const tool = (name: string, description: string, properties: Properties, required: string[] = []) => ({
  type: 'function',
  name,
  description,
  strict: false,
  parameters: { type: 'object', properties, required, additionalProperties: false },
})

const INPUT: Properties = {
  message: text('The words for it. Either message or items.'),
  items: {
    type: 'array',
    description: 'Words, pictures and the like, one part each. Either message or items.',
    items: {
      type: 'object',
      properties: {
        type: text('text, image, local_image, audio, local_audio, skill or mention.'),
        text: text('With text.'),
        image_url: text('With image: a data URL.'),
        audio_url: text('With audio: a data URL.'),
        path: text('With local_image, local_audio, skill and mention.'),
        name: text('With skill and mention.'),
      },
      additionalProperties: false,
    },
  },
}

const OTHERS = [
  tool(
    'send_input',
    'Gives more to an agent that is open. What it works on goes on with it, unless interrupt is true.',
    { target: text('Agent id from spawn_agent.'), ...INPUT, interrupt: flag('Ends its present task first.') },
    ['target'],
  ),
  tool(
    'wait_agent',
    'Waits until one of the agents has ended its task and gives the state and last message of those that have; an empty status when time ran out. Wait only when you cannot go on without it.',
    {
      targets: { type: 'array', items: { type: 'string' }, description: 'Agent ids.' },
      timeout_ms: { type: 'number', description: 'Default 30000, 10000 to 3600000.' },
    },
    ['targets'],
  ),
  tool(
    'close_agent',
    'Ends an agent and those below it, and tells how it stood. Open agents count towards the limit, also when they are done.',
    { target: text('Agent id from spawn_agent.') },
    ['target'],
  ),
  tool(
    'resume_agent',
    'Opens an agent again that was closed, so that it can be given more.',
    { id: text('Agent id from spawn_agent.') },
    ['id'],
  ),
]

/** One entry of a request's tools. */
export function agentNamespace(mode: MultiAgentMode): unknown {
  const spawn = tool(
    'spawn_agent',
    `Starts an agent beside you for a part of the work that stands for itself, and returns its id and name at once. It works in the same folder under the same limits as you; its last message comes back to you. ${delegationPolicy(mode)}`,
    {
      ...INPUT,
      fork_context: flag('It begins with everything you know. Without it, it knows only what you tell it.'),
      model: text('Another model than yours; leave it out unless the person named one.'),
      reasoning_effort: text('Another effort than yours.'),
    },
  )
  return {
    type: 'namespace',
    name: AGENT_NAMESPACE,
    description: 'Agents that work for you on parts of the task.',
    tools: [spawn, ...OTHERS],
  }
}
