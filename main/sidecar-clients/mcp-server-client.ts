import type { ThreadNews } from '../../preload/api.ts'
import { unknown } from '../../sidecars/protocol/decode.ts'
import { threadsNews, variableName, type McpServerConfig } from '../../sidecars/protocol/host-channel.ts'
import type { OwnerThreadCalls, OwnerThreadMethod } from '../../sidecars/protocol/owner-threads.ts'
import type { OwnerVariables } from '../processes/owner-variables.ts'
import { receiveSessions, type SessionNews } from './exec-server-client.ts'
import type { SidecarLink } from './sidecar-link.ts'

/** A list over thousands of threads on a cold disk, a model server that is slow to say what it has. */
const THREAD_CALL_MS = 30_000

/** The host's side of its channel to the MCP server. */
export class McpServerClient {
  private readonly newsListeners = new Set<(news: ThreadNews) => void>()

  constructor(
    private readonly link: SidecarLink,
    variables: OwnerVariables,
  ) {
    link.onRequest('environment/variable', variableName, async ({ name }) => ({ value: await variables.get(name) }))
  }

  receive(news: SessionNews): void {
    receiveSessions(this.link, news)
    this.link.onNotification('threads/news', threadsNews, ({ method, params }) => {
      for (const listener of this.newsListeners) listener({ method, params: params as ThreadNews['params'] })
    })
  }

  configure(config: McpServerConfig): Promise<unknown> {
    return this.link.request('sidecar/configure', { config }, unknown, { timeoutMs: 5_000 })
  }

  /** Rejects with RpcError and the words of the method; `unavailable` while the sidecar is down. */
  async callThread<M extends OwnerThreadMethod>(method: M, params: object): Promise<OwnerThreadCalls[M]['result']> {
    const result = await this.link.request('threads/call', { method, params }, unknown, { timeoutMs: THREAD_CALL_MS })
    return result as OwnerThreadCalls[M]['result']
  }

  /** Ends the turn that runs; nothing when none does. */
  async interruptThread(threadId: string): Promise<void> {
    const newest = { threadId, limit: 1, sortDirection: 'desc', itemsView: 'notLoaded' }
    const [turn] = (await this.callThread('thread/turns/list', newest)).data
    if (turn?.status === 'inProgress') await this.callThread('turn/interrupt', { threadId, turnId: turn.id })
  }

  /** What happens in the threads that were started or resumed here. */
  onThreadNews(listener: (news: ThreadNews) => void): () => void {
    this.newsListeners.add(listener)
    return () => void this.newsListeners.delete(listener)
  }
}
