/** An app server in this process with a home of its own and a scripted model; no command can run in it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppServer } from '../mcp-server/app-server/app-server.ts'
import { HomeRules } from '../mcp-server/app-server/home-rules.ts'
import { sandboxRootsOf } from '../mcp-server/app-server/sandbox-policy.ts'
import type { AppServerClient } from './app-server-client.ts'
import { memoryClient } from './app-server-memory.ts'
import { ScriptedModel, type ModelScript } from './scripted-model.ts'

export class ScriptedAppServer {
  private server: AppServer

  private constructor(
    readonly home: string,
    readonly model: ScriptedModel,
  ) {
    this.server = this.newServer()
  }

  static async start(scripts: Record<string, ModelScript>): Promise<ScriptedAppServer> {
    const home = mkdtempSync(join(tmpdir(), 'gh-scripted-'))
    const model = await ScriptedModel.start(scripts)
    writeFileSync(
      join(home, 'config.toml'),
      `model = "gpt-5.5"\nmodel_provider = "fake"\n[model_providers.fake]\nbase_url = "${model.baseUrl}"\nstream_max_retries = 0\nrequest_max_retries = 0\n`,
    )
    return new ScriptedAppServer(home, model)
  }

  /** Another client, which has shaken hands. */
  open(capabilities: object = { experimentalApi: true }): Promise<AppServerClient> {
    return memoryClient(this.server).open(capabilities)
  }

  /** Ends the server as a whole and begins anew with what it stored. */
  async restart(): Promise<void> {
    await this.server.close()
    this.server = this.newServer()
  }

  async close(): Promise<void> {
    await this.server.close()
    this.model.close()
    rmSync(this.home, { recursive: true, force: true })
  }

  private newServer(): AppServer {
    return new AppServer({
      home: this.home,
      exec: () => {
        throw new Error('no command was expected here')
      },
      rules: new HomeRules({ home: this.home }),
      sandboxObject: () => null,
      sandboxRoots: sandboxRootsOf,
      shell: { path: '/bin/sh', name: 'sh' },
      log: () => undefined,
    })
  }
}
