/** `turn/*` and what else makes a thread work: shell commands, compaction, review, terminals, queue. */
import {
  array,
  boolean,
  integer,
  object,
  optional,
  string,
  unknown,
  variant,
  withDefault,
  type Decoder,
} from '../../../protocol/decode.ts'
import type { UserInput } from '../../../protocol/app-server/thread-item.ts'
import type { PendingInput } from '../../engine/active-turn.ts'
import { agentMail } from '../../engine/mailbox.ts'
import { reviewPrompt } from '../../engine/review.ts'
import { method, threadQueue, type Method } from '../method-table.ts'
import { overridesOf } from '../thread-settings-source.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'
import { refusals } from './turn-refusals.ts'
import { userInput } from './user-input-decoder.ts'

type Loose = Record<string, unknown>

const context = (value: unknown): PendingInput['additionalContext'] =>
  typeof value === 'object' && value !== null ? (value as PendingInput['additionalContext']) : null

const turnStart: Decoder<Loose & { threadId: string; input: UserInput[] }> = (value, path) => ({
  ...(value as Loose),
  ...object({ threadId: string, input: array(userInput) })(value, path),
})
const reviewTarget = variant('type', {
  uncommittedChanges: object({}),
  baseBranch: object({ branch: string }),
  commit: object({ sha: string, title: optional(string) }),
  custom: object({ instructions: string }),
})

export function turnMethods(server: ServerContext): Record<string, Method> {
  const session = (threadId: string) => server.threads.need(threadId).session
  return {
    'turn/start': method(turnStart, {
      queue: threadQueue,
      run: async (params) => {
        const clientId = typeof params.clientUserMessageId === 'string' ? params.clientUserMessageId : null
        const input = { input: params.input, clientId, additionalContext: context(params.additionalContext) }
        const options = {
          outputSchema: params.outputSchema ?? null,
          serviceTier: typeof params.serviceTierForTurn === 'string' ? params.serviceTierForTurn : null,
        }
        const thread = server.threads.need(params.threadId)
        const isWordless = input.input.length === 0 && input.additionalContext === null
        if (isWordless && (params.toolOutput ?? null) === null) throw invalidRequest('input must not be empty')
        server.keeper.resumeQueue(thread)
        return { turn: await refusals(session(params.threadId).turnInput(input, overridesOf(params), options)) }
      },
    }),
    'turn/steer': method(
      object({
        threadId: string,
        input: array(userInput),
        expectedTurnId: string,
        clientUserMessageId: optional(string),
        additionalContext: unknown,
      }),
      {
        queue: threadQueue,
        run: async ({ threadId, input, expectedTurnId, clientUserMessageId, additionalContext }) => {
          const steered = session(threadId).steer(expectedTurnId, {
            input,
            clientId: clientUserMessageId ?? null,
            additionalContext: context(additionalContext),
          })
          return { turnId: await refusals(steered, { steer: expectedTurnId }) }
        },
      },
    ),
    'turn/interrupt': method(object({ threadId: string, turnId: string }), {
      queue: threadQueue,
      run: async ({ threadId, turnId }) => {
        await refusals(session(threadId).interrupt(turnId), { interrupt: turnId })
        return {}
      },
    }),
    'turn/settings/update': method(turnSettings, {
      experimental: true,
      queue: threadQueue,
      run: async (params) => {
        const applied = await session(params.threadId).updateTurnSettings(params.turnId, overridesOf(params))
        return { status: applied ? 'applied' : 'targetUnavailable' }
      },
    }),
    'thread/settings/update': method(threadSettings, {
      experimental: true,
      queue: threadQueue,
      run: async (params) => {
        await session(params.threadId).updateSettings(overridesOf(params))
        return {}
      },
    }),
    'thread/compact/start': method(object({ threadId: string }), {
      queue: threadQueue,
      run: async ({ threadId }) => {
        await session(threadId).startCompaction()
        return {}
      },
    }),
    'thread/shellCommand': method(object({ threadId: string, command: string, timeoutMs: optional(integer(1)) }), {
      queue: threadQueue,
      run: async ({ threadId, command, timeoutMs }) => {
        if (command.trim() === '') throw invalidRequest('command must not be empty')
        await session(threadId).userShellCommand(command, timeoutMs ?? null)
        return {}
      },
    }),
    'review/start': method(object({ threadId: string, target: reviewTarget, delivery: optional(string) }), {
      queue: threadQueue,
      run: async ({ threadId, target }) => {
        reviewPrompt(target)
        return { turn: await session(threadId).startReview(target), reviewThreadId: threadId }
      },
    }),
    'thread/inject_items': method(object({ threadId: string, items: array(unknown) }), {
      queue: threadQueue,
      run: async ({ threadId, items }) => {
        await session(threadId).inject(items as Record<string, unknown>[])
        return {}
      },
    }),
    'thread/approveGuardianDeniedAction': method(object({ threadId: string, event: unknown }), {
      queue: threadQueue,
      run: async ({ threadId, event }) => {
        const { status, action } = (event ?? {}) as { status?: unknown; action?: unknown }
        if (status !== 'denied') {
          session(threadId).warn(`an assessment that is not denied was left alone (status ${JSON.stringify(status)})`)
          return {}
        }
        const text = JSON.stringify({ action, outcome: 'allowed' })
        await session(threadId).inject([
          { type: 'message', role: 'developer', content: [{ type: 'input_text', text }] },
        ])
        return {}
      },
    }),
    'gatehouse/thread/mail': method(
      object({ threadId: string, from: string, text: string, triggersTurn: withDefault(boolean, false) }),
      {
        experimental: true,
        queue: threadQueue,
        run: async ({ threadId, from, text, triggersTurn }) => {
          if (text.trim() === '') throw invalidRequest('text must not be empty')
          await refusals(session(threadId).receiveMail({ text: agentMail(from, text), triggersTurn }))
          return {}
        },
      },
    ),
    'gatehouse/thread/suspend': method(object({ threadId: string }), {
      experimental: true,
      queue: threadQueue,
      run: async ({ threadId }) => ({ outcome: await server.threads.suspend(threadId) }),
    }),
    'gatehouse/turn/recover': method(turnSettings, {
      experimental: true,
      queue: threadQueue,
      run: async (params) => {
        const options = { outputSchema: params.outputSchema ?? null, serviceTier: null }
        return {
          turn: await refusals(session(params.threadId).recoverTurn(params.turnId, overridesOf(params), options)),
        }
      },
    }),
    'thread/backgroundTerminals/list': method(object({ threadId: string }), {
      experimental: true,
      queue: threadQueue,
      run: ({ threadId }) => ({
        data: session(threadId)
          .terminals.running()
          .map((terminal) => ({
            itemId: terminal.itemId,
            processId: String(terminal.id),
            command: terminal.command,
            cwd: terminal.cwd,
            osPid: null,
            cpuPercent: null,
            rssKb: null,
          })),
      }),
    }),
    'thread/backgroundTerminals/terminate': method(object({ threadId: string, processId: string }), {
      experimental: true,
      queue: threadQueue,
      run: async ({ threadId, processId }) => {
        const terminal = session(threadId)
          .terminals.running()
          .find(({ id }) => String(id) === processId)
        return { terminated: (await terminal?.kill()) ?? false }
      },
    }),
    'thread/backgroundTerminals/clean': method(object({ threadId: string }), {
      experimental: true,
      queue: threadQueue,
      run: async ({ threadId }) => {
        await session(threadId).terminals.killAll()
        return {}
      },
    }),
  }
}

const turnSettings: Decoder<Loose & { threadId: string; turnId: string }> = (value, path) => ({
  ...(value as Loose),
  ...object({ threadId: string, turnId: string })(value, path),
})
const threadSettings: Decoder<Loose & { threadId: string }> = (value, path) => ({
  ...(value as Loose),
  ...object({ threadId: string })(value, path),
})
