/**
 * The Codex CLI's own terminal interface against an app server: `npm run interop:tui`. It runs under
 * tmux; what it shows is read from the screen, what it asks comes from a scripted model.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { appServersUnderTest, startAppServer, type RunningAppServer } from '../../testing/app-server-process.ts'
import { placeOutsideOfTmp } from '../../testing/place-outside-of-tmp.ts'
import { ScriptedModel } from '../../testing/scripted-model.ts'

const run = promisify(execFile)
const cli = process.env.GATEHOUSE_CODEX
if (!cli) throw new Error('GATEHOUSE_CODEX: name the binary of the Codex CLI, or use npm run interop:tui')

let model: ScriptedModel
let scratch: string
beforeAll(async () => {
  scratch = placeOutsideOfTmp('.gatehouse-tui-')
  model = await ScriptedModel.start({
    hello: [[{ think: 'a greeting' }, { say: 'Good day from the model.' }]],
    again: [[{ say: 'Good to see you again.' }]],
    approve: [
      [
        {
          call: 'exec_command',
          args: {
            cmd: 'touch approved.txt',
            sandbox_permissions: 'require_escalated',
            justification: 'May I touch it?',
          },
        },
      ],
      [{ say: 'It is touched.' }],
    ],
    // The interface asks for a title, in words of its own.
    none: [[{ say: '{"title":"A short title"}' }]],
  })
})
afterAll(() => {
  model.close()
  rmSync(scratch, { recursive: true, force: true })
})

/** One terminal with one program in it. */
class Screen {
  private readonly socket = `gatehouse-${process.pid}-${Math.random().toString(36).slice(2)}`

  async open(argv: string[], env: Record<string, string>, cwd: string): Promise<void> {
    const words = ['env', '-i', ...Object.entries(env).map(([k, v]) => `${k}=${v}`), ...argv]
    const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
    await this.tmux('new-session', '-d', '-x', '110', '-y', '40', '-c', cwd, line)
  }

  async text(): Promise<string> {
    return (await this.tmux('capture-pane', '-p', '-S', '-200')).stdout
  }

  /** Waits until the screen shows it. */
  async shows(words: string): Promise<void> {
    await expect.poll(() => this.text(), { timeout: 60_000, interval: 100 }).toContain(words)
  }

  /** Waits for the place to type; where the server advertises a newer model first, the old one is kept. */
  async composer(): Promise<void> {
    let isReady = 0
    await expect
      .poll(
        async () => {
          const { stdout } = await this.tmux('capture-pane', '-p')
          if (stdout.includes('Use existing model')) {
            await this.key('Escape')
            isReady = 0
          } else isReady = stdout.includes('Ask Codex to do anything') ? isReady + 1 : 0
          return isReady
        },
        { timeout: 60_000, interval: 300 },
      )
      .toBeGreaterThan(2)
  }

  /** Types a line; the interface takes it for pasted text unless Enter comes a moment after it is shown. */
  async enter(line: string): Promise<void> {
    await this.tmux('send-keys', '-l', line)
    await this.shows(line)
    await this.key('Enter')
  }

  async key(name: string): Promise<void> {
    await this.tmux('send-keys', name)
  }

  async ended(): Promise<void> {
    await expect
      .poll(
        () =>
          this.tmux('list-sessions').then(
            () => 'runs',
            () => 'ended',
          ),
        { timeout: 30_000, interval: 100 },
      )
      .toBe('ended')
  }

  close(): Promise<unknown> {
    return this.tmux('kill-server').catch(() => undefined) // It has ended.
  }

  private tmux(...args: string[]) {
    return run('tmux', ['-L', this.socket, '-f', '/dev/null', ...args])
  }
}

describe.each(appServersUnderTest().map((program) => [program.name, program] as const))(
  'the TUI with %s',
  (_, program) => {
    let server: RunningAppServer
    let screen: Screen
    let ws: string
    let env: Record<string, string>

    beforeEach(async () => {
      const folder = mkdtempSync(join(scratch, 's-'))
      ws = join(folder, 'ws')
      const home = join(folder, 'server')
      const own = join(folder, 'tui')
      for (const made of [ws, home, own]) mkdirSync(made)
      const quiet =
        'check_for_update_on_startup = false\n[analytics]\nenabled = false\n[features]\nplugins = false\napps = false\n'
      writeFileSync(join(own, 'config.toml'), quiet)
      writeFileSync(
        join(home, 'config.toml'),
        `model = "gpt-5.5"\nmodel_provider = "fake"\n${quiet}[model_providers.fake]\nname = "fake"\nbase_url = "${model.baseUrl}"\nwire_api = "responses"\n[projects.${JSON.stringify(ws)}]\ntrust_level = "trusted"\n`,
      )
      const path = process.env.PATH ?? ''
      server = await startAppServer(program, 'ws', {
        env: { PATH: path, HOME: home, CODEX_HOME: home, RUST_LOG: 'off', NO_PROXY: '*' },
        cwd: ws,
        socketPath: join(home, 's.sock'),
      })
      env = { PATH: path, HOME: own, CODEX_HOME: own, TERM: 'xterm-256color', LANG: 'C.UTF-8', NO_PROXY: '*' }
      screen = new Screen()
    })
    afterEach(async () => {
      await screen.close()
      await server.stop()
    })

    it('shows the composer, two turns, an approval answered with y, quits and resumes', async () => {
      await screen.open([cli, '--remote', server.url!], env, ws)
      await screen.composer()
      await screen.enter('[[hello]] good day')
      await screen.shows('Good day from the model.')
      await screen.enter('[[approve]] please')
      await screen.shows('May I touch it?')
      expect(existsSync(join(ws, 'approved.txt'))).toBe(false)
      await screen.key('y')
      await screen.shows('It is touched.')
      expect(existsSync(join(ws, 'approved.txt'))).toBe(true)
      await screen.enter('/quit')
      await screen.ended()

      const client = await (await server.connect()).open()
      const listed = (await client.call('thread/list', { modelProviders: [], limit: 10, sourceKinds: [] })) as {
        data: { id: string; preview: string }[]
      }
      client.close()
      const thread = listed.data.find(({ preview }) => preview.includes('[[hello]]'))!
      await screen.open([cli, 'resume', thread.id, '--remote', server.url!], env, ws)
      await screen.shows('Good day from the model.')
      await screen.shows('It is touched.')
      await screen.enter('[[again]] hello')
      await screen.shows('Good to see you again.')
      expect(model.lastInput).toContain('[[approve]] please')
      await screen.enter('/quit')
      await screen.ended()
    })
  },
)
