/**
 * Sessions of an app server that is not ours, for the window: calls go there, news come back, and what it asks
 * is put before the owner like anything else. A link that is lost answers nothing: what waited is withdrawn.
 */
import { decode, object, string } from '../../../protocol/decode.ts'
import type { Emit, NotificationMap } from '../../../protocol/app-server/notifications.ts'
import type { ServerRequestMap, ServerRequestMethod } from '../../../protocol/app-server/server-requests.ts'
import type { FileChange, ThreadItem } from '../../../protocol/app-server/thread-item.ts'
import type { Thread } from '../../../protocol/app-server/thread.ts'
import type { ExternalAppServer } from '../../../protocol/host-channel.ts'
import { sessionOfThread } from '../../../protocol/ids.ts'
import type { SessionServer } from '../../../protocol/owner-threads.ts'
import { RpcError } from '../../../rpc/rpc-error.ts'
import type { PeerHostLink } from '../../sessions/host-link.ts'
import { AppServerClient } from '../app-server-client.ts'
import { ownerForm } from '../host-approvals.ts'
import { OpenItems } from '../open-items.ts'
import { shortened, ThreadNews } from '../thread-news.ts'
import { ThreadSessions } from '../thread-sessions.ts'
import { connectExternal } from './external-carrier.ts'
import { findInPages, pageOfTurns } from './external-pages.ts'
import { subjectOf } from './external-subjects.ts'

const CALL_MS = 25_000
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 10_000

type Params = Record<string, unknown>

export interface ExternalThreadsOptions {
  server: ExternalAppServer
  host: Pick<PeerHostLink, 'ask' | 'opened' | 'updated' | 'closed'>
  /** Takes news of threads, and `gatehouse/server/changed`. */
  send(method: string, params: Params): void
  log(message: string): void
  /** Replaced in tests. */
  connect?: typeof connectExternal
}

/** Owned by the sidecar; connects by itself, again and again, until it is closed. */
export class ExternalThreads {
  private readonly news: ThreadNews
  private sessions: ThreadSessions
  private open = new OpenItems()
  private client: AppServerClient | null = null
  private state: SessionServer['state'] = 'connecting'
  private name = 'Codex'
  private problem: string | null = null
  private life = 0
  private readonly threads = new Map<string, Opened>()
  /** Questions before the owner, by the id that the server gave them. */
  private readonly asked = new Map<string | number, AbortController>()
  private retryMs = FIRST_RETRY_MS
  private retry: NodeJS.Timeout | null = null
  private isClosed = false
  private server: ExternalAppServer
  /** The attempt that runs, or the last one. */
  private attempt: Promise<void>

  constructor(private readonly options: ExternalThreadsOptions) {
    this.news = new ThreadNews(options.send)
    this.sessions = this.newSessions()
    this.server = options.server
    this.attempt = this.connect()
  }

  /** From the next connection on. */
  update(server: ExternalAppServer): void {
    this.server = server
  }

  view(): SessionServer {
    const { url, command } = this.server
    return {
      kind: 'external',
      name: this.name,
      address: url ?? (command ?? []).join(' '),
      state: this.state,
      life: this.life,
      problem: this.problem,
    }
  }

  /** Rejects with RpcError and the method's words; `unavailable` while there is no connection. */
  async call(method: string, params: unknown): Promise<unknown> {
    // The first connection is on its way: whoever calls now wants it.
    if (this.state === 'connecting') await this.attempt
    const { client } = this
    if (!client || this.state !== 'ready') throw new RpcError('unavailable', this.unavailableWords())
    if (method === 'gatehouse/thread/open') {
      const { threadId } = decode(object({ threadId: string }), params, 'params')
      this.news.flush()
      return shortened(this.open.of(threadId))
    }
    if (method === 'gatehouse/thread/find') {
      const { threadId, term } = decode(object({ threadId: string, term: string }), params, 'params')
      return findInPages((page) => this.items(client, { threadId, ...page }), term)
    }
    // Whoever has started or resumed a thread stays its listener: what runs in it is known here all the time.
    if (method === 'thread/unsubscribe') return { status: 'unsubscribed' }
    if (method === 'thread/items/list') return shortened(await this.items(client, params as Params))
    if (method === 'thread/resume') return shortened(await this.resume(client, params as Params))
    const result = await client.call<Params>(method, withDefaults(method, params as Params))
    if (isOpening(method)) this.adopt(result as Opened)
    return shortened(result)
  }

  close(): void {
    this.isClosed = true
    if (this.retry) clearTimeout(this.retry)
    this.lose('another server is used now')
    this.client?.close()
    this.news.close()
  }

  private async connect(): Promise<void> {
    try {
      const transport = await (this.options.connect ?? connectExternal)(this.server)
      if (this.isClosed) return transport.close('no longer wanted')
      const client = new AppServerClient(transport, {
        clientInfo: { name: 'gatehouse', title: 'Gatehouse' },
        callTimeoutMs: CALL_MS,
        notified: (method, params) => this.notified(method, params),
        asked: (method, params, id) => this.answer(method as ServerRequestMethod, params, id),
        closed: (message) => this.client === client && this.lost(message),
      })
      this.client = client
      const said = await client.ready
      const agent = /^([^/\s]+)\/([\w.-]+)/.exec(String(said.userAgent ?? ''))
      this.name = agent ? `Codex app server ${agent[2]}` : 'Codex app server'
      this.retryMs = FIRST_RETRY_MS
      this.life++
      this.change('ready', null)
    } catch (error) {
      this.client?.close()
      this.lost((error as Error).message)
    }
  }

  private lost(message: string): void {
    if (this.isClosed) return
    this.client = null
    this.lose(`the link to the app server was lost: ${message}`)
    this.change('down', message)
    this.retry = setTimeout(() => (this.attempt = this.connect()), this.retryMs)
    this.retry.unref()
    this.retryMs = Math.min(LAST_RETRY_MS, this.retryMs * 2)
  }

  /** Withdraws what waits and ends the sessions here; at the server they go on. */
  private lose(reason: string): void {
    for (const question of this.asked.values()) question.abort(new Error(reason))
    this.asked.clear()
    for (const threadId of this.threads.keys()) this.sessions.unloaded(threadId, reason)
    this.threads.clear()
    this.open = new OpenItems()
    this.sessions = this.newSessions()
  }

  private newSessions(): ThreadSessions {
    return new ThreadSessions(this.options.host, { agentName: 'Codex', via: 'external-app-server' })
  }

  private change(state: SessionServer['state'], problem: string | null): void {
    this.state = state
    this.problem = problem
    if (problem !== null) this.options.log(`the external app server: ${problem}`)
    this.options.send('gatehouse/server/changed', { server: this.view() })
  }

  private unavailableWords(): string {
    const where = this.view().address
    return this.problem === null
      ? `the app server at ${where} is being connected; try again in a moment`
      : `there is no connection to the app server at ${where}: ${this.problem}`
  }

  /** A thread that has just begun cannot be resumed before it is stored; who began it listens to it already. */
  private async resume(client: AppServerClient, params: Params): Promise<Opened> {
    const known = this.threads.get(String(params.threadId))
    try {
      const opened = await client.call<Opened>('thread/resume', params)
      this.adopt(opened)
      return opened
    } catch (error) {
      if (!known || !(error instanceof RpcError) || error.code === 'disconnected') throw error
      return known
    }
  }

  private adopt(opened: Opened): void {
    const { thread } = opened
    const isKnown = this.threads.has(thread.id)
    this.threads.set(thread.id, opened)
    if (isKnown) return
    this.sessions.loaded(thread)
    if (thread.status?.type === 'active')
      this.sessions.notified('thread/status/changed', { threadId: thread.id, status: thread.status })
  }

  private notified(method: string, params: Params): void {
    const { threadId } = params as { threadId?: string }
    if (method === 'serverRequest/resolved') {
      const id = (params as { requestId: string | number }).requestId
      this.asked.get(id)?.abort(new Error('it was answered elsewhere'))
      this.asked.delete(id)
    }
    const notify = params as unknown as NotificationMap[keyof NotificationMap]
    this.open.notified(method as Parameters<Emit>[0], notify)
    this.sessions.notified(method as Parameters<Emit>[0], notify)
    if (method === 'thread/closed' && threadId !== undefined) {
      this.threads.delete(threadId)
      this.sessions.unloaded(threadId)
    }
    this.news.push(method, params)
  }

  /** The owner's answer in the words of the protocol. Whatever goes wrong is an error, never a yes. */
  private async answer(method: ServerRequestMethod, params: Params, id: string | number): Promise<unknown> {
    const threadId = String(params.threadId)
    const known = this.threads.get(threadId)
    const changesOf = (itemId: string): readonly FileChange[] | undefined => {
      const item: ThreadItem | undefined = this.open.of(threadId).data.find((open) => open.item.id === itemId)?.item
      return item?.type === 'fileChange' ? item.changes : undefined
    }
    const subject = subjectOf(method, params, { cwd: known?.thread.cwd ?? '', changesOf })
    const form = ownerForm(method, params as ServerRequestMap[ServerRequestMethod]['params'], subject)
    if (!form) throw new Error(`${method} is not answered by this client`)
    const question = new AbortController()
    this.asked.set(id, question)
    try {
      const { subject: shown, scopes } = form
      const reason = typeof params.reason === 'string' ? { reason: params.reason } : {}
      const decision = await this.options.host.ask(
        {
          sessionId: sessionOfThread(threadId),
          ...(params.itemId !== undefined && { toolCallId: String(params.itemId) }),
          subject: shown,
          scopes,
          ...reason,
        },
        question.signal,
      )
      question.signal.throwIfAborted()
      const { words: _words, ...answer } = form.answer(decision) as Params
      return answer
    } finally {
      this.asked.delete(id)
    }
  }

  /** A page of items; threads of the older kind have none, there their turns are read whole. */
  private async items(client: AppServerClient, params: Params): Promise<ItemPage> {
    try {
      return await client.call<ItemPage>('thread/items/list', params)
    } catch (error) {
      if (!(error instanceof RpcError) || !/legacy|not supported|unsupported|paginated/i.test(error.message))
        throw error
      const { threadId } = params as { threadId: string }
      const read = await client.call<{ thread: Thread }>('thread/read', { threadId, includeTurns: true })
      return pageOfTurns(read.thread.turns, params)
    }
  }
}

export interface ItemPage {
  data: { turnId: string; item: ThreadItem }[]
  nextCursor: string | null
  backwardsCursor?: string | null
}

type Opened = Params & { thread: Thread }

const isOpening = (method: string): boolean => method === 'thread/start' || method === 'thread/fork'

/** Pages of items exist only for threads that are kept in that way. */
function withDefaults(method: string, params: Params): Params {
  return method === 'thread/start' ? { historyMode: 'paginated', ...params } : params
}
