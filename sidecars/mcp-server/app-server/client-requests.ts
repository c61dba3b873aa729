/**
 * Questions of the server to its clients: every subscriber of the thread gets the same one, the first
 * proper answer wins, late joiners are asked too, everyone is told when it is over.
 */
import type {
  AskFailure,
  AskOptions,
  ClientRequests,
  ServerRequestMap,
  ServerRequestMethod,
} from '../../protocol/app-server/server-requests.ts'
import { decodeAnswer } from './answer-decoders.ts'
import { requestText, type AppConnection } from './connection.ts'

/** Nobody answered with a decision; see `failure`. Never a yes. */
export class AskFailed extends Error {
  override readonly name = 'AskFailed'
  constructor(
    readonly failure: AskFailure,
    message: string,
  ) {
    super(message)
  }
}

interface Open {
  id: number
  threadId: string
  method: ServerRequestMethod
  text: string
  asked: Set<AppConnection>
  settle(answer: { result: unknown } | { error: { code: number; message: string } }): void
}

export interface Audience {
  subscribers(threadId: string): Iterable<AppConnection>
  resolved(threadId: string, requestId: number, asked: Iterable<AppConnection>): void
}

export class PendingRequests implements ClientRequests {
  private readonly open = new Map<number, Open>()
  private nextId = 0

  constructor(private readonly audience: Audience) {}

  ask<M extends ServerRequestMethod>(
    method: M,
    params: ServerRequestMap[M]['params'],
    { threadId, signal, turnEnds }: AskOptions,
  ): Promise<ServerRequestMap[M]['answer']> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const id = this.nextId++
      const end = () => {
        signal.removeEventListener('abort', onAbort)
        this.open.delete(id)
        this.audience.resolved(threadId, id, request.asked)
      }
      const onAbort = () => {
        reject(signal.reason as Error)
        this.open.delete(id)
        // With a turn that is over the question is, too: told after the turn's own end.
        const isTurnOver = (signal.reason as Error).name === 'TurnAborted'
        void (isTurnOver && turnEnds ? turnEnds.then(end) : end())
      }
      const request: Open = {
        id,
        threadId,
        method,
        text: requestText(id, method, params),
        asked: new Set(),
        settle: (answer) => {
          end()
          if ('error' in answer)
            return reject(new AskFailed('client-error', `the client answered with an error: ${answer.error.message}`))
          const decoded = decodeAnswer(method, answer.result)
          if (decoded === null) reject(new AskFailed('undecodable', 'the client gave an answer that is no decision'))
          else resolve(decoded)
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.open.set(id, request)
      for (const connection of this.audience.subscribers(threadId)) this.send(request, connection)
    })
  }

  /** Asks a client that joined the thread everything that is still open, under the same ids. */
  replay(threadId: string, connection: AppConnection): void {
    for (const request of this.open.values()) if (request.threadId === threadId) this.send(request, connection)
  }

  /** An answer from a client; ignored when it is late or was not asked of it. */
  answer(
    connection: AppConnection,
    id: unknown,
    answer: { result: unknown } | { error: { code: number; message: string } },
  ): void {
    const request = typeof id === 'number' ? this.open.get(id) : undefined
    if (request?.asked.has(connection)) request.settle(answer)
  }

  /** A closed connection is no longer asked; the question stays open for the others and for joiners. */
  forget(connection: AppConnection): void {
    for (const request of this.open.values()) request.asked.delete(connection)
  }

  private send(request: Open, connection: AppConnection): void {
    request.asked.add(connection)
    connection.sendText(request.text)
  }
}
