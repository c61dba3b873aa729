/**
 * What clients were told is on disk: the server is killed with SIGKILL at random points of a session with
 * approvals, patches and running output, and the next one has to know all of it, once.
 *
 * GATEHOUSE_KILLS=200 kills so often (8 otherwise); GATEHOUSE_SEED repeats a run; GATEHOUSE_APP_SERVER
 * names a bundle other than the one in out/.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AppServerClient, AppServerGone, stdioCarrier, type AppServerMessage } from '../../testing/app-server-client.ts'
import { ScriptedModel } from '../../testing/scripted-model.ts'
import { SEED } from '../../testing/seed.ts'

/* oxlint-disable typescript/no-explicit-any -- what the server sends is what is under test */

const SERVER = process.env.GATEHOUSE_APP_SERVER ?? resolve('out/sidecars/app-server.cjs')
const KILLS = Number(process.env.GATEHOUSE_KILLS ?? 8)
/** Messages that one round of the script takes, roughly: kills fall anywhere in a round. */
const MESSAGES_OF_A_ROUND = 130
/** A thread is left for a new one after so many kills: also a young thread must survive. */
const KILLS_OF_A_THREAD = 10

let scratch: string
let ws: string
let home: string
let model: ScriptedModel

beforeAll(async () => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'gh-killed-')))
  ws = join(scratch, 'ws')
  home = join(scratch, 'home')
  mkdirSync(ws)
  mkdirSync(home)
  const command = (cmd: string, more = {}) => ({ call: 'exec_command', args: { cmd, ...more } })
  model = await ScriptedModel.start({
    hello: [[{ think: 'hm' }, { say: 'one two three four five six', pieces: 6 }]],
    approve: [
      [command('echo approved', { sandbox_permissions: 'require_escalated', justification: 'may I?' })],
      [{ say: 'was allowed' }],
    ],
    patch: [
      [
        {
          custom: 'apply_patch',
          input: '*** Begin Patch\n*** Add File: a.txt\n+one\n*** Add File: b.txt\n+two\n*** End Patch',
        },
      ],
      [
        {
          custom: 'apply_patch',
          input: '*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+uno\n*** Delete File: b.txt\n*** End Patch',
        },
      ],
      [{ say: 'patched' }],
    ],
    output: [
      [command('for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; sleep 0.01; done'), command('echo beside')],
      [{ say: 'printed' }],
    ],
    behind: [[command('sleep 0.4; echo late', { yield_time_ms: 250 })], [{ say: 'runs on' }]],
    slow: [[{ say: 'this text is cut off by an interruption', pieces: 10, gapMs: 20 }]],
  })
  writeFileSync(
    join(home, 'config.toml'),
    [
      'model = "gpt-5.5"',
      'model_provider = "fake"',
      'sandbox_mode = "danger-full-access"',
      'approval_policy = "untrusted"',
      '[model_providers.fake]',
      `base_url = "${model.baseUrl}"`,
      '',
    ].join('\n'),
  )
})
afterAll(() => {
  model.close()
  rmSync(scratch, { recursive: true, force: true })
})

/** The real server over stdio, with one client that says yes to everything. */
class Server extends AppServerClient {
  readonly child: ChildProcess
  readonly ended: Promise<void>

  constructor() {
    const { carrier, child, ended } = stdioCarrier(process.execPath, [SERVER], {
      env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: home },
      cwd: ws,
    })
    super(carrier)
    this.child = child
    this.ended = ended
    this.answers.set('*', () => ({ decision: 'accept' }))
  }
}

/** What clients have been told of one thread, over all servers that worked on it. */
class Told {
  readonly items = new Map<string, { item: any; turnId: string }>()
  readonly turns = new Map<string, string>()
  name: string | null = null
  /** The name may be this one, too: its answer did not come. */
  nameOnTheWay: string | null = null

  note({ method, params }: AppServerMessage): void {
    if (method === 'item/completed') {
      expect(this.items.has(params.item.id), `${params.item.type} was announced twice`).toBe(false)
      this.items.set(params.item.id, { item: params.item, turnId: params.turnId })
    }
    if (method === 'turn/completed') this.turns.set(params.turn.id, params.turn.status)
  }
}

/** mulberry32: the same kills for the same seed. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

let words = 0

/** One round of a session; ends early, with AppServerGone, when the server is gone. */
async function round(server: Server, threadId: string, told: Told): Promise<void> {
  const turn = (script: string) => server.turn(threadId, `message ${++words} [[${script}]]`)
  await turn('approve')
  await turn('patch')
  told.nameOnTheWay = `name ${++words}`
  await server.call('thread/name/set', { threadId, name: told.nameOnTheWay })
  told.name = told.nameOnTheWay
  await turn('output')
  const from = server.seen.length
  await server.call('thread/shellCommand', { threadId, command: 'echo typed' })
  await server.until((m) => m.method === 'turn/completed', from)
  await turn('behind')
  const running = turn('slow')
  running.catch(() => undefined) // Awaited below; a kill may come before.
  const delta = await server.until((m) => m.method === 'item/agentMessage/delta', from)
  await server.call('turn/interrupt', { threadId, turnId: delta.params.turnId }).catch((error: Error) => {
    // It had ended already.
    if (error instanceof AppServerGone) throw error
  })
  await running
  await turn('hello')
}

/** Members that people and models go by; times and process numbers are not among them. */
const essence = ({ type, id, text, content, summary, status, exitCode, command, aggregatedOutput, changes }: any) =>
  JSON.parse(
    JSON.stringify({ type, id, text, content, summary, status, exitCode, command, aggregatedOutput, changes }),
  ) as unknown

/** Everything told is there, once, wherever one looks; the thread goes on. */
async function check(server: Server, threadId: string, told: Told): Promise<void> {
  const resumed = await server.call('thread/resume', { threadId })
  const turns = resumed.thread.turns as any[]
  expect(new Set(turns.map((t) => t.id)).size).toBe(turns.length)
  expect(turns.filter((t) => t.status === 'inProgress')).toEqual([])
  for (const [id, status] of told.turns) expect([id, turns.find((t) => t.id === id)?.status]).toEqual([id, status])

  const shown = turns.flatMap((t) => (t.items as any[]).map((item) => ({ item, turnId: t.id as string })))
  const ids = shown.map(({ item }) => item.id as string)
  expect(ids.length).toBe(new Set(ids).size)
  for (const [id, { item, turnId }] of told.items) {
    const found = shown.find((s) => s.item.id === id)
    expect(found && { turnId: found.turnId, ...(essence(found.item) as object) }).toEqual({
      turnId,
      ...(essence(item) as object),
    })
  }
  const texts = shown.filter(({ item }) => item.type === 'userMessage').map(({ item }) => item.content[0].text)
  expect(texts.length).toBe(new Set(texts).size)

  const paged: string[] = []
  for (let cursor: string | undefined; ;) {
    const page = await server.call('thread/items/list', { threadId, sortDirection: 'asc', limit: 50, cursor })
    paged.push(...page.data.map((entry: any) => entry.item.id))
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  expect([...paged].sort()).toEqual([...ids].sort())
  expect([told.name, told.nameOnTheWay]).toContain(resumed.thread.name)

  expect((await server.turn(threadId, `message ${++words} [[hello]]`)).turn.status).toBe('completed')
  const input = model.requests.at(-1)!.body.input
  const calls = input.filter((i) => String(i.type).endsWith('_call')).map((i) => i.call_id)
  const outputs = input.filter((i) => String(i.type).endsWith('_output')).map((i) => i.call_id)
  expect(calls.length).toBe(new Set(calls).size)
  expect([...outputs].sort()).toEqual([...calls].sort())
  const asked = JSON.stringify(input)
  for (const text of texts) expect(asked.split(`${text}"`).length - 1, text).toBe(1)
}

it(
  `everything announced survives kill -9 (${KILLS} times, seed ${SEED})`,
  { timeout: 60_000 + KILLS * 30_000 },
  async () => {
    const next = random(SEED)
    let told = new Told()
    let threadId: string | null = null
    let killsOfThread = 0
    let server = await new Server().open()
    for (let kill = 0; kill < KILLS; kill++) {
      const { child } = server
      const deadline = server.seen.length + 1 + Math.floor(next() * MESSAGES_OF_A_ROUND)
      const delayMs = next() * 4
      server.onMessage = (message) => {
        told.note(message)
        if (server.seen.length === deadline) setTimeout(() => child.kill('SIGKILL'), delayMs)
      }
      try {
        if (threadId === null || killsOfThread >= KILLS_OF_A_THREAD) {
          told = new Told()
          threadId = null
          killsOfThread = 0
          threadId = (await server.call('thread/start', { cwd: ws })).thread.id as string
        } else await check(server, threadId, told)
        for (;;) await round(server, threadId, told)
      } catch (error) {
        if (!(error instanceof AppServerGone)) throw error
      }
      await server.ended
      killsOfThread++
      server = await new Server().open()
      // A thread of which nothing was told may be gone; any other must be there.
      if (threadId !== null && told.items.size === 0) threadId = null
    }
    server.onMessage = (message) => told.note(message)
    if (threadId !== null) await check(server, threadId, told)
    server.child.stdin!.end()
    await server.ended
  },
)

it('of two processes one writes a thread, the other is told and may read; a killed one lets go', async () => {
  const first = await new Server().open()
  const threadId = (await first.call('thread/start', { cwd: ws })).thread.id as string
  await first.turn(threadId, 'mine [[hello]]')
  const second = await new Server().open()
  await expect(second.call('thread/resume', { threadId })).rejects.toMatchObject({
    code: -32600,
    message: expect.stringContaining(`in use by process ${first.child.pid}`) as string,
  })
  const { thread } = await second.call('thread/read', { threadId, includeTurns: true })
  expect(thread.turns).toHaveLength(1)
  expect((await first.turn(threadId, 'still mine [[hello]]')).turn.status).toBe('completed')
  first.child.kill('SIGKILL')
  await first.ended
  expect((await second.call('thread/resume', { threadId })).thread.turns).toHaveLength(2)
  expect((await second.turn(threadId, 'yours [[hello]]')).turn.status).toBe('completed')
  second.child.stdin!.end()
  await second.ended
})
