/** The built exec and MCP servers under a test's host, with a scripted model for sessions. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { threadsNews } from '../protocol/host-channel.ts'
import { DecidingHost, type Question } from './deciding-host.ts'
import { launchSidecar, type LaunchedSidecar } from './launched-sidecar.ts'
import { ScriptedModel, type ModelScript } from './scripted-model.ts'

export const AGENT_TOKEN = 'agents-token'
export const OWNER_TOKEN = 'owners-token'

export interface News {
  method: string
  params: Record<string, unknown>
}

export class HostedSessions {
  readonly folder = mkdtempSync(join(tmpdir(), 'gh-hosted-'))
  /** Beside the folder: what belongs to the servers is closed to every sandbox. */
  readonly work = realpathSync(mkdtempSync(join(tmpdir(), 'gh-work-')))
  readonly host = new DecidingHost()
  readonly news: News[] = []

  private constructor(
    readonly model: ScriptedModel,
    private readonly sidecars: { exec?: LaunchedSidecar; mcp?: LaunchedSidecar } = {},
  ) {}

  static async start(scripts: Record<string, ModelScript>): Promise<HostedSessions> {
    const hosted = new HostedSessions(await ScriptedModel.start(scripts))
    await hosted.launch()
    return hosted
  }

  get mcp(): LaunchedSidecar {
    return this.sidecars.mcp!
  }

  /** What a person was asked, beside what is only recorded. */
  asked(): Question[] {
    return this.host.questions.filter(({ gate }) => gate === 'ask')
  }

  /** A call of the owner's own client. */
  call<T>(method: string, params: object): Promise<T> {
    return this.mcp.host.request('threads/call', { method, params }, (value) => value as T)
  }

  async newThread(more: object = {}): Promise<string> {
    const { thread } = await this.call<{ thread: { id: string } }>('thread/start', {
      cwd: this.work,
      sandbox: 'danger-full-access',
      ...more,
    })
    return thread.id
  }

  say(threadId: string, text: string): Promise<unknown> {
    return this.call('turn/start', { threadId, input: [{ type: 'text', text }] })
  }

  async stop(): Promise<void> {
    await this.sidecars.mcp?.shutdown()
    await this.sidecars.exec?.shutdown()
    this.model.close()
    for (const folder of [this.folder, this.work]) rmSync(folder, { recursive: true, force: true })
  }

  private async launch(): Promise<void> {
    const dataDir = join(this.folder, 'data')
    mkdirSync(dataDir)
    writeFileSync(
      join(dataDir, 'config.toml'),
      `model_provider = "scripted"\nmodel = "scripted-model"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${this.model.baseUrl}"\n`,
    )
    const common = { dataDir, runDir: this.folder }
    const execSocket = join(this.folder, 'exec.sock')
    this.sidecars.exec = await launchSidecar(
      'exec-server',
      { ...common, config: { socketPath: execSocket, internalToken: 'internal' } },
      this.host.register,
    )
    this.sidecars.mcp = await launchSidecar(
      'mcp-server',
      {
        ...common,
        config: {
          socketPath: join(this.folder, 'mcp.sock'),
          agentToken: AGENT_TOKEN,
          execServer: { socketPath: execSocket, token: 'internal' },
          appServer: {
            socketPath: join(this.folder, 'app-server.sock'),
            websocket: { port: 0, token: OWNER_TOKEN },
          },
        },
      },
      (peer) => {
        this.host.register(peer)
        peer.onNotification('threads/news', threadsNews, (news) => void this.news.push(news as News))
      },
    )
  }
}
