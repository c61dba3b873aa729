import { randomBytes } from 'node:crypto'
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  type CallToolResult,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { text } from './suite-values.ts'

/** What the client gave to the questions of the round before. */
interface Given {
  action?: string
  content?: Record<string, unknown> & { text?: string }
  roots?: unknown
}
type Answers = Partial<Record<string, Given>>
type Outcome = CallToolResult | InputRequiredResult
type Ask = (answers: Answers, context: ServerContext) => Outcome | Promise<Outcome>

/** Seals what a tool has to remember from one round to the next. */
export const sealedState = createRequestStateCodec({ key: randomBytes(32).toString('hex'), ttlSeconds: 600 })

const answersOf = ({ mcpReq }: ServerContext): Answers => (mcpReq.inputResponses ?? {}) as Answers
const stateOf = <T>({ mcpReq }: ServerContext): T | undefined => mcpReq.requestState<T>()

type FormSchema = Extract<Parameters<typeof inputRequired.elicit>[0]['requestedSchema'], { type: 'object' }>
type Properties = FormSchema['properties']
const form = (message: string, properties: Properties, required?: string[]) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, ...(required === undefined ? {} : { required }) },
  })
const sample = (question: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: question } }], maxTokens })

const nameForm = form('What is your name?', { name: { type: 'string' } }, ['name'])
const confirmForm = form('Please confirm', { ok: { type: 'boolean' } }, ['ok'])
const hasName = (given: Given | undefined) => given?.action === 'accept' && typeof given.content?.name === 'string'

const askName: Ask = ({ user_name: given }) =>
  hasName(given)
    ? text(`Hello, ${String(given?.content?.name)}!`)
    : inputRequired({ inputRequests: { user_name: nameForm } })

const askWithState: Ask = async ({ confirm }, context) =>
  stateOf(context) !== undefined && confirm
    ? text('state-ok')
    : inputRequired({ inputRequests: { confirm: confirmForm }, requestState: await sealedState.mint({ asked: 1 }) })

const askThree: Ask = async ({ user_name: name, greeting, client_roots: roots }) =>
  name && greeting && roots
    ? text('all three')
    : inputRequired({
        inputRequests: {
          user_name: nameForm,
          greeting: sample('Generate a greeting', 50),
          client_roots: inputRequired.listRoots(),
        },
        requestState: await sealedState.mint({ count: 3 }),
      })

const askInRounds: Ask = async ({ step1, step2 }, context) => {
  const state = stateOf<{ round: number; name?: unknown }>(context)
  if (state?.round === 2) return text(`${String(state.name)} likes ${String(step2?.content?.color)}`)
  if (state?.round === 1)
    return inputRequired({
      inputRequests: { step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color']) },
      requestState: await sealedState.mint({ round: 2, name: step1?.content?.name }),
    })
  return inputRequired({
    inputRequests: { step1: form('Step 1: What is your name?', { name: { type: 'string' } }, ['name']) },
    requestState: await sealedState.mint({ round: 1 }),
  })
}

const askWhatIsOffered: Ask = (answers, { mcpReq }) => {
  if (Object.keys(answers).length > 0) return text('done')
  const { [CLIENT_CAPABILITIES_META_KEY]: offered = {} } = (mcpReq.envelope ?? {}) as Record<string, object>
  const inputRequests = {
    ...('elicitation' in offered ? { user_name: nameForm } : {}),
    ...('sampling' in offered ? { greeting: sample('Say hello', 50) } : {}),
    ...('roots' in offered ? { client_roots: inputRequired.listRoots() } : {}),
  }
  return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : text('nothing to ask with')
}

const completed = ({ action, content }: Given) =>
  text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)
const choices = (noun: string) =>
  ['First', 'Second', 'Third'].map((rank, at) => ({ const: `value${at + 1}`, title: `${rank} ${noun}` }))

const askDefaults: Ask = ({ form: given }) =>
  given
    ? completed(given)
    : inputRequired({
        inputRequests: {
          form: form('Every kind of default', {
            name: { type: 'string', default: 'John Doe' },
            age: { type: 'integer', default: 30 },
            score: { type: 'number', default: 95.5 },
            status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
            verified: { type: 'boolean', default: true },
          }),
        },
      })

const askChoices: Ask = ({ form: given }) =>
  given
    ? completed(given)
    : inputRequired({
        inputRequests: {
          form: form('Every kind of choice', {
            untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
            titledSingle: { type: 'string', oneOf: choices('Option') },
            legacyEnum: {
              type: 'string',
              enum: ['opt1', 'opt2', 'opt3'],
              enumNames: ['Option One', 'Option Two', 'Option Three'],
            },
            untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
            titledMulti: { type: 'array', items: { anyOf: choices('Choice') } },
          }),
        },
      })

const ASKING: Record<string, Ask> = {
  test_missing_capability: ({ q }) => (q ? text('ok') : inputRequired({ inputRequests: { q: sample('hi', 5) } })),
  test_input_required_result_elicitation: askName,
  test_streaming_elicitation: askName,
  test_input_required_result_sampling: ({ capital_question: given }) =>
    given
      ? text(given.content?.text ?? 'sampled')
      : inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?', 100) } }),
  test_input_required_result_list_roots: ({ client_roots: given }) =>
    given
      ? text(JSON.stringify(given.roots))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }),
  test_input_required_result_request_state: askWithState,
  test_input_required_result_tampered_state: askWithState,
  test_input_required_result_multiple_inputs: askThree,
  test_input_required_result_multi_round: askInRounds,
  test_input_required_result_capabilities: askWhatIsOffered,
  test_elicitation_sep1034_defaults: askDefaults,
  test_elicitation_sep1330_enums: askChoices,
}

/** Tools that ask the client before they answer. */
export function registerInputTools(server: McpServer): void {
  for (const [name, ask] of Object.entries(ASKING))
    server.registerTool(name, { description: `${name} of the suite` }, (context) => ask(answersOf(context), context))
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model of the client', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, context): Outcome => {
      const { answer } = answersOf(context)
      return answer
        ? text(`LLM response: ${answer.content?.text}`)
        : inputRequired({ inputRequests: { answer: sample(prompt, 100) } })
    },
  )
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user of the client', inputSchema: z.object({ message: z.string() }) },
    ({ message }, context): Outcome => {
      const { answer } = answersOf(context)
      if (answer)
        return text(`User response: action: ${answer.action}, content: ${JSON.stringify(answer.content ?? {})}`)
      const properties: Properties = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }
      return inputRequired({ inputRequests: { answer: form(message, properties, ['username', 'email']) } })
    },
  )
}
