/** The owner's own client of the app server: the window's calls go in, news of its threads come out. */
import type { AppServer } from './app-server.ts'
import { InProcessClient } from './in-process-client.ts'
import { shortened, ThreadNews } from './thread-news.ts'

/** Owned by the sidecar. */
export class HostClient {
  private readonly client: InProcessClient
  private readonly news: ThreadNews

  constructor(server: AppServer, send: (method: string, params: Record<string, unknown>) => void) {
    this.news = new ThreadNews(send)
    this.client = new InProcessClient(server, { name: 'gatehouse', title: 'Gatehouse' }, (method, params) =>
      this.news.push(method, params),
    )
  }

  /** Rejects with RpcError and the method's words. */
  async call(method: string, params: unknown): Promise<unknown> {
    return shortened(await this.client.call(method, params))
  }

  close(): void {
    this.client.close()
    this.news.close()
  }
}
