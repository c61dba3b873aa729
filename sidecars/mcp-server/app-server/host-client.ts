/** The owner's own client of the app server: the window's calls go in, news of its threads come out. */
import type { AppServer } from './app-server.ts'
import { decode, object, string } from '../../protocol/decode.ts'
import { InProcessClient } from './in-process-client.ts'
import type { OpenItems, ThreadNow } from './open-items.ts'
import { shortened, ThreadNews } from './thread-news.ts'

/** Owned by the sidecar. */
export class HostClient {
  private readonly client: InProcessClient
  private readonly news: ThreadNews

  constructor(
    server: AppServer,
    private readonly open: OpenItems,
    send: (method: string, params: Record<string, unknown>) => void,
  ) {
    this.news = new ThreadNews(send)
    this.client = new InProcessClient(server, { name: 'gatehouse', title: 'Gatehouse' }, (method, params) =>
      this.news.push(method, params),
    )
  }

  /** Rejects with RpcError and the method's words. */
  async call(method: string, params: unknown): Promise<unknown> {
    if (method === 'gatehouse/thread/open') return shortened(this.underWay(params))
    return shortened(await this.client.call(method, params))
  }

  /** The text that is on its way belongs to what is told here; sent later it would be there twice. */
  private underWay(params: unknown): ThreadNow {
    const { threadId } = decode(object({ threadId: string }), params, 'params')
    this.news.flush()
    return this.open.of(threadId)
  }

  close(): void {
    this.client.close()
    this.news.close()
  }
}
