/**
 * Puts what the engine asks before the owner's Inbox as well as before the app server's clients. The
 * first answer wins and the other side is told that it is over; an error or a lost link is never a yes.
 */
import type { Decision, Scope } from '../../protocol/decision.ts'
import type {
  AskOptions,
  ClientRequests,
  ServerRequestMap,
  ServerRequestMethod,
} from '../../protocol/app-server/server-requests.ts'
import { sessionOfThread } from '../../protocol/ids.ts'
import type { Subject } from '../../protocol/subject.ts'
import type { OwnerAnswer, PeerHostLink } from '../sessions/host-link.ts'

type Answer<M extends ServerRequestMethod> = ServerRequestMap[M]['answer']

export interface OwnerForm {
  subject: Subject
  scopes: Scope[]
  /** The owner's verdict in the words of the protocol. */
  answer(decision: OwnerAnswer): Answer<ServerRequestMethod>
}

export class HostApprovals implements ClientRequests {
  constructor(
    private readonly clients: ClientRequests,
    private readonly host: Pick<PeerHostLink, 'ask'>,
  ) {}

  ask<M extends ServerRequestMethod>(
    method: M,
    params: ServerRequestMap[M]['params'],
    options: AskOptions,
  ): Promise<Answer<M>> {
    const form = ownerForm(method, params, options.subject)
    if (!form) return this.clients.ask(method, params, options)
    const question = {
      sessionId: sessionOfThread(options.threadId),
      ...('itemId' in params && { toolCallId: String(params.itemId) }),
      subject: form.subject,
      scopes: form.scopes,
      // What was refused says more than the engine's words about it.
      ...(options.refused !== undefined
        ? { refused: options.refused }
        : 'reason' in params && typeof params.reason === 'string' && { reason: params.reason }),
    }
    return firstAnswer(options.signal, [
      (signal) => this.clients.ask(method, params, { ...options, signal }),
      async (signal) => form.answer(await this.host.ask(question, signal)) as Answer<M>,
    ])
  }
}

/** Settles with the first side that answers and withdraws the question elsewhere; fails when all fail. */
async function firstAnswer<T>(
  signal: AbortSignal,
  sides: readonly ((signal: AbortSignal) => Promise<T>)[],
): Promise<T> {
  signal.throwIfAborted()
  const over = new AbortController()
  const onAbort = () => over.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.any(sides.map((ask) => ask(over.signal)))
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof AggregateError ? (error.errors[0] as Error) : error
  } finally {
    signal.removeEventListener('abort', onAbort)
    over.abort(new Error('answered elsewhere'))
  }
}

/** Null for what the owner cannot answer here: tools that a client runs. */
export function ownerForm<M extends ServerRequestMethod>(
  method: M,
  params: ServerRequestMap[M]['params'],
  subject: Subject | undefined,
): OwnerForm | null {
  switch (method) {
    case 'item/commandExecution/requestApproval':
    case 'item/fileChange/requestApproval':
      return subject === undefined
        ? null
        : {
            subject,
            scopes: subject.kind === 'command' ? ['once', 'session', 'always'] : ['once', 'session'],
            answer: (decision) => ({
              decision:
                decision.verdict === 'deny' ? 'decline' : decision.scope === 'session' ? 'acceptForSession' : 'accept',
              ...wordsOf(decision),
            }),
          }
    case 'item/permissions/requestApproval': {
      const { permissions } = params as ServerRequestMap['item/permissions/requestApproval']['params']
      return subject === undefined
        ? null
        : {
            subject,
            scopes: ['once', 'session'],
            answer: (decision) => ({
              permissions: decision.verdict === 'allow' ? permissions : {},
              scope: decision.scope === 'session' ? 'session' : 'turn',
              ...wordsOf(decision),
            }),
          }
    }
    case 'item/tool/requestUserInput': {
      const { questions } = params as ServerRequestMap['item/tool/requestUserInput']['params']
      return {
        subject: { kind: 'question', questions },
        scopes: ['once'],
        answer: (decision) => ({
          answers: Object.fromEntries(
            Object.entries(decision.content ?? {}).map(([id, text]) => [id, { answers: [String(text)] }]),
          ),
          ...wordsOf(decision),
        }),
      }
    }
    case 'mcpServer/elicitation/request':
      return elicitationForm(params as ServerRequestMap['mcpServer/elicitation/request']['params'], subject)
    default:
      return null
  }
}

function elicitationForm(
  params: ServerRequestMap['mcpServer/elicitation/request']['params'],
  subject: Subject | undefined,
): OwnerForm | null {
  const answer = (decision: OwnerAnswer): Answer<'mcpServer/elicitation/request'> =>
    decision.verdict === 'deny'
      ? { action: 'decline', content: null, _meta: null, ...wordsOf(decision) }
      : {
          action: 'accept',
          content: decision.content ?? {},
          _meta: decision.scope === 'session' ? { persist: 'session' } : null,
        }
  if (subject) return { subject, scopes: ['once', 'session'], answer }
  const { serverName, message, requestedSchema, url } = params
  return {
    subject: {
      kind: 'elicitation',
      serverName,
      message,
      schema: requestedSchema,
      ...(typeof url === 'string' && { url }),
    },
    scopes: ['once'],
    answer,
  }
}

const wordsOf = ({ verdict, reason }: Decision): { words?: string } =>
  verdict === 'deny' && reason !== undefined ? { words: reason } : {}
