/* oxlint-disable typescript/no-explicit-any -- what the server sends is what is under test */
/** More than the sandbox gives, asked for by the model over the wire: whole, in part, for a turn, for a session, refused. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AppServerClient } from '../../testing/app-server-client.ts'
import { ScriptedAppServer } from '../../testing/scripted-app-server.ts'
import type { ModelStep } from '../../testing/scripted-model.ts'
import { placeOutsideOfTmp } from '../../testing/place-outside-of-tmp.ts'

let host: ScriptedAppServer
let c: AppServerClient
let outside: string
let other: string
let id: string

const ask = (): ModelStep => ({
  call: 'request_permissions',
  args: {
    reason: 'need two folders',
    permissions: { network: { enabled: true }, file_system: { read: ['/etc'], write: [outside, other] } },
  },
})
const write = (name: string): ModelStep => ({
  custom: 'apply_patch',
  input: `*** Begin Patch\n*** Add File: ${join(outside, name)}\n+x\n*** End Patch`,
})

beforeEach(async () => {
  host = await ScriptedAppServer.start({
    both: (_, outputs) => [[ask()], [write('a')], [{ say: 'ok' }]][outputs.length] as ModelStep[],
    ask: (_, outputs) => (outputs.length === 0 ? [ask()] : [{ say: 'ok' }]),
    write: (_, outputs) => (outputs.length === 0 ? [write('b')] : [{ say: 'ok' }]),
    nothing: [[{ call: 'request_permissions', args: { permissions: {} } }], [{ say: 'ok' }]],
  })
  outside = placeOutsideOfTmp('gh-permissions-')
  other = join(outside, 'other')
  mkdirSync(other)
  c = await host.open()
  const started = await c.call('thread/start', {
    cwd: host.home,
    sandbox: 'workspace-write',
    approvalPolicy: 'on-request',
  })
  id = started.thread.id
})
afterEach(async () => {
  await host.close()
  rmSync(outside, { recursive: true, force: true })
})

const output = (): any => {
  const last = host.model.requests.at(-1)!.body.input.findLast((i) => String(i.type) === 'function_call_output')!
  return last.output
}
const grant = (permissions: object, more: object = {}) =>
  c.answers.set('item/permissions/requestApproval', () => ({ permissions, ...more }))

it('shows exactly what is asked, has no item, and tells that it waits', async () => {
  const running = c.turn(id, '[[ask]]')
  const question = await c.asked('item/permissions/requestApproval')
  const entry = (path: string, access: string) => ({ path: { type: 'path', path }, access })
  expect(question.params).toMatchObject({
    threadId: id,
    environmentId: 'local',
    cwd: host.home,
    reason: 'need two folders',
    permissions: {
      network: { enabled: true },
      fileSystem: {
        read: ['/etc'],
        write: [outside, other],
        entries: [entry('/etc', 'read'), entry(outside, 'write'), entry(other, 'write')],
      },
    },
  })
  expect((await c.call('thread/read', { threadId: id })).thread.status.activeFlags).toEqual(['waitingOnApproval'])
  c.send({ id: question.id, result: { permissions: question.params.permissions, scope: 'turn' } })
  const { messages } = await running
  expect(JSON.parse(output())).toEqual({ permissions: question.params.permissions, scope: 'turn' })
  const kinds = messages.flatMap((m) => (m.method === 'item/started' ? [m.params.item.type] : []))
  expect(kinds).toEqual(['userMessage', 'agentMessage'])
  await c.notified('serverRequest/resolved', (p) => p.requestId === question.id)
})

it('a grant for the turn ends with it', async () => {
  grant({ fileSystem: { write: [outside] } })
  await c.turn(id, '[[both]]')
  expect(existsSync(join(outside, 'a'))).toBe(true)
  c.answers.set('item/fileChange/requestApproval', () => ({ decision: 'decline' }))
  const { messages } = await c.turn(id, '[[write]]')
  expect([
    messages.some((m) => m.method === 'item/fileChange/requestApproval'),
    existsSync(join(outside, 'b')),
  ]).toEqual([true, false])
})

it('a grant for the session lasts, and what was not asked for is never granted', async () => {
  grant({ fileSystem: { write: [outside, '/'], entries: [{ path: '/usr', access: 'write' }] } }, { scope: 'session' })
  await c.turn(id, '[[ask]]')
  expect(JSON.parse(output())).toEqual({ permissions: { fileSystem: { write: [outside] } }, scope: 'session' })
  const { messages } = await c.turn(id, '[[write]]')
  expect([
    messages.some((m) => m.method === 'item/fileChange/requestApproval'),
    existsSync(join(outside, 'b')),
  ]).toEqual([false, true])
})

it('nothing granted is a no; an answer that is none fails; a policy without questions asks nobody', async () => {
  grant({})
  await c.turn(id, '[[ask]]')
  expect(JSON.parse(output())).toEqual({ permissions: {}, scope: 'turn' })
  c.answers.set('item/permissions/requestApproval', () => ({ permissions: { network: 'yes' } }))
  await c.turn(id, '[[ask]]')
  expect(output()).toContain('the permissions were not granted')
  await c.turn(id, '[[nothing]]')
  expect(output()).toContain('asks for nothing')
  const from = c.seen.length
  await c.turn(id, '[[ask]]', { approvalPolicy: 'never' })
  expect(output()).toContain('the approval policy is Never')
  await c.turn(id, '[[ask]]', { approvalPolicy: { granular: { request_permissions: false } } })
  expect(output()).toContain('does not let permissions be requested')
  expect(c.seen.slice(from).some((m) => m.method === 'item/permissions/requestApproval')).toBe(false)
})
