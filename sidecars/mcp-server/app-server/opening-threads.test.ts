/* oxlint-disable typescript/no-explicit-any -- what the server sends is what is under test */
/** Ways to a thread: by its file, from what a client remembers, with named rights; and pages that begin where a client says. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AppServerClient } from '../../testing/app-server-client.ts'
import { ScriptedAppServer } from '../../testing/scripted-app-server.ts'

let host: ScriptedAppServer
let c: AppServerClient
let id: string

beforeEach(async () => {
  host = await ScriptedAppServer.start({
    hello: [[{ say: 'Hello.' }]],
    plan: [[{ call: 'update_plan', args: { plan: [] } }, { say: 'One.' }], [{ say: 'Two.' }]],
    echo: [[{ call: 'echo', args: { text: 'hi' }, namespace: 'mcp__mini' }], [{ say: 'echoed' }]],
  })
  c = await host.open()
  id = (await c.call('thread/start', { cwd: host.home })).thread.id
})
afterEach(() => host.close())

const refused = (method: string, params: object, client = c) =>
  client.call(method, params).then(
    () => expect.unreachable(),
    (error: Error) => error.message,
  )
const read = async (threadId = id) => (await c.call('thread/read', { threadId })).thread

describe('a thread', () => {
  it('is resumed and forked by its file, also one from elsewhere', async () => {
    await c.turn(id, '[[hello]]')
    const { path } = await read()
    expect(await refused('thread/resume', { threadId: id, path: '/elsewhere.jsonl' })).toContain('is loaded from')
    expect((await c.call('thread/resume', { threadId: id, path })).thread.id).toBe(id)
    await host.restart()
    c = await host.open()
    expect((await c.call('thread/resume', { threadId: '', path })).thread).toMatchObject({
      id,
      turns: [{ status: 'completed' }],
    })
    const forked = (await c.call('thread/fork', { threadId: '', path })).thread
    expect([forked.forkedFromId, forked.turns.length]).toEqual([id, 1])
    expect(await refused('thread/resume', { threadId: '', path: '/nowhere.jsonl' })).toBe(
      'path: no rollout found at /nowhere.jsonl',
    )
    // Somebody else's file, under an id that is not known here.
    const foreign = join(host.home, 'foreign.jsonl')
    copyFileSync(path, foreign)
    const other = '0190aaaa-0000-7000-8000-000000000000'
    const text = readFileSync(foreign, 'utf8').replaceAll(id, other)
    await import('node:fs/promises').then((fs) => fs.writeFile(foreign, text))
    expect((await c.call('thread/resume', { threadId: '', path: foreign })).thread.id).toBe(other)
  })

  it('begins with a history that a client remembers', async () => {
    const message = (role: string, type: string, text: string) => ({ type: 'message', role, content: [{ type, text }] })
    const history = [message('user', 'input_text', 'my name is Ada'), message('assistant', 'output_text', 'Noted.')]
    const { thread } = await c.call('thread/resume', { threadId: id, history, cwd: host.home })
    expect(thread.id).not.toBe(id)
    await c.turn(thread.id, '[[hello]]')
    expect(host.model.lastInput).toContain('my name is Ada')
    const plain = await host.open({})
    expect(await refused('thread/resume', { threadId: id, history }, plain)).toBe(
      'thread/resume.history requires experimentalApi capability',
    )
  })

  it('has the rights of a named profile', async () => {
    const start = (params: object) => c.call('thread/start', { cwd: host.home, ...params })
    expect((await start({ permissions: ':workspace' })).sandbox.type).toBe('workspaceWrite')
    expect((await start({ permissions: ':danger-full-access' })).sandbox.type).toBe('dangerFullAccess')
    expect(await refused('thread/start', { permissions: ':all' })).toContain('permissions: expected one of :read-only')
    expect(await refused('thread/start', { permissions: ':workspace', sandbox: 'read-only' })).toContain(
      'cannot be combined',
    )
    await c.call('thread/settings/update', { threadId: id, permissions: ':danger-full-access' })
    expect((await c.call('thread/resume', { threadId: id })).sandbox.type).toBe('dangerFullAccess')
    await c.turn(id, '[[hello]]', { permissions: ':read-only' })
    expect((await c.call('thread/resume', { threadId: id })).sandbox.type).toBe('readOnly')
  })
})

describe('lists', () => {
  it('are narrowed to clients and projects', async () => {
    await c.turn(id, '[[hello]]')
    const other = await host.open({ experimentalApi: true })
    const list = async (params: object) =>
      (await other.call('thread/list', { modelProviders: [], ...params })).data.length
    await c.call('thread/metadata/update', { threadId: id, projectId: 'shop' })
    expect([
      await list({ originators: ['gatehouse-test'] }),
      await list({ originators: ['somebody'] }),
      await list({ projectId: 'shop' }),
      await list({ projectId: 'other' }),
    ]).toEqual([1, 0, 1, 0])
  })

  it('of loaded threads come in pages', async () => {
    const more = (await c.call('thread/start', { cwd: host.home })).thread.id
    const first = await c.call('thread/loaded/list', { limit: 1 })
    expect(first).toEqual({ data: [id], nextCursor: id })
    expect(await c.call('thread/loaded/list', { limit: 1, cursor: first.nextCursor })).toEqual({
      data: [more],
      nextCursor: null,
    })
  })

  it('of items go up, or begin behind an item of a turn', async () => {
    const { turn } = await c.turn(id, '[[plan]]')
    const page = async (params: object, threadId = id) =>
      (await c.call('thread/items/list', { threadId, ...params })).data.map((e: any) => e.item.text ?? e.item.type)
    expect(await page({})).toEqual(['userMessage', 'One.', 'Two.'])
    const [, one] = (await c.call('thread/items/list', { threadId: id })).data
    const cursor = { type: 'item', itemId: one.item.id }
    expect(await page({ turnId: turn.id, cursor })).toEqual(['Two.'])
    expect(await page({ turnId: turn.id, cursor, sortDirection: 'desc' })).toEqual(['userMessage'])
    const fork = (await c.call('thread/fork', { threadId: id })).thread.id
    expect(await page({ turnId: turn.id, cursor }, fork)).toEqual(['Two.'])
    expect(await refused('thread/items/list', { threadId: id, cursor })).toContain('turnId: is needed')
    expect(
      await refused('thread/items/list', { threadId: id, turnId: turn.id, cursor: { type: 'item', itemId: 'x' } }),
    ).toContain('has no item x')
  })
})

it('a program of a client is refused by name when its walls cannot be', async () => {
  const exec = (params: object, client = c) => refused('command/exec', { command: ['true'], ...params }, client)
  expect(await exec({ permissionProfile: ':none' })).toContain('permissions: expected one of :read-only')
  expect(await exec({ permissionProfile: ':workspace', sandboxPolicy: { type: 'readOnly' } })).toContain(
    'cannot be combined',
  )
  expect(await exec({ sandboxPolicy: { type: 'glass' } })).toContain('sandboxPolicy.type: expected readOnly')
  expect(await exec({ permissionProfile: ':workspace' }, await host.open({}))).toBe(
    'command/exec.permissionProfile requires experimentalApi capability',
  )
})
