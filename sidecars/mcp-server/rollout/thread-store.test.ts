import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'vite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { repairHistory } from './repair-history.ts'
import { formatRecord } from './rollout-record.ts'
import type { PageRequest } from './thread-pages.ts'
import { ThreadMissing, ThreadStore } from './thread-store.ts'
import type { ThreadLog } from './thread-log.ts'
import type { ThreadQuery } from './thread-query.ts'
import { openSqlite } from './sqlite.ts'
import { acquireWriterLock, ThreadInUse } from './writer-lock.ts'

let home: string
let store: ThreadStore
let now = Date.parse('2026-06-01T12:00:00Z')
const problems: string[] = []
const openStore = () =>
  new ThreadStore({ home, nowMs: () => (now += 1000), onProblem: (p) => problems.push(p), scanDelayMs: 0 })

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gh-store-'))
  problems.length = 0
  store = openStore()
})
afterEach(async () => {
  await store.close()
  rmSync(home, { recursive: true, force: true })
})

const ID = (n: number) => `01a22e1f-0000-7000-8000-${String(n).padStart(12, '0')}`
const meta = (n: number, more: Record<string, unknown> = {}) => ({
  id: ID(n),
  session_id: ID(n),
  timestamp: new Date(now).toISOString(),
  cwd: '/w',
  originator: 'test',
  cli_version: '1',
  source: 'vscode',
  model_provider: 'p',
  history_mode: 'paginated',
  ...more,
})
const turn = (log: ThreadLog, name: string, end: 'task_complete' | 'turn_aborted' | null = 'task_complete') => {
  log.append('event_msg', { type: 'task_started', turn_id: name, started_at: 1 })
  log.append('turn_context', { turn_id: name, cwd: '/w', model: 'm' })
  log.append('response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: `ask ${name}` }] })
  log.append('event_msg', {
    type: 'item_completed',
    turn_id: name,
    item: { type: 'userMessage', id: `u-${name}`, clientId: null, content: [{ type: 'text', text: `ask ${name}` }] },
  })
  log.append('event_msg', {
    type: 'item_completed',
    turn_id: name,
    item: { type: 'agentMessage', id: `m-${name}`, text: `answer ${name}`, phase: null, memoryCitation: null },
  })
  log.append('response_item', {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: `answer ${name}` }],
  })
  if (end) log.append('event_msg', { type: end, turn_id: name, completed_at: 2, duration_ms: 5 })
}
const page = (more: Partial<PageRequest> = {}): PageRequest => ({
  cursor: null,
  limit: 100,
  descending: false,
  ...more,
})
const everything: Omit<ThreadQuery, 'after'> = {
  archived: false,
  sort: 'created_at',
  descending: true,
  limit: 25,
  modelProviders: null,
  sources: null,
  cwds: null,
  searchTerm: null,
  parentId: null,
  ancestorId: null,
  originators: null,
  projectId: null,
  includedIds: null,
  excludedIds: null,
}
const listed = async (s = store) => (await s.list(everything, null)).threads.map((t) => t.id)
const turnIds = async (id: string, s = store) =>
  (await s.pages.turns((await s.find(id))!.thread, page(), 'full')).data.map((t) => t.id)
const made = async (n: number, names: string[]) => {
  const log = store.create(meta(n))
  for (const name of names) turn(log, name)
  await log.flush(true)
  return log
}

describe('a thread on disk', () => {
  it('leaves nothing before its first flush and is listed after it', async () => {
    const log = store.create(meta(1))
    expect(await listed()).toEqual([])
    await log.close()
    expect(existsSync(join(home, 'sessions'))).toBe(false)
    await made(2, ['t1'])
    expect(await listed()).toEqual([ID(2)])
    expect((await store.find(ID(2)))!.thread).toMatchObject({ preview: 'ask t1', model: 'm', cwd: '/w' })
  })

  it('gives pages of turns and items both ways, and the same after the index was deleted', async () => {
    const log = await made(1, ['t1', 't2', 't3'])
    const pages = async (s: ThreadStore) => {
      const { thread } = (await s.find(ID(1)))!
      const first = await s.pages.turns(thread, page({ limit: 2, descending: true }), 'summary')
      const second = await s.pages.turns(
        thread,
        page({ limit: 2, descending: true, cursor: first.nextCursor }),
        'notLoaded',
      )
      const items = await s.pages.items(thread, page({ limit: 4 }))
      const rest = await s.pages.items(thread, page({ limit: 4, cursor: items.nextCursor }))
      return {
        turns: [...first.data, ...second.data].map((t) => [t.id, t.status, t.items.map((i) => i.id)]),
        items: [...items.data, ...rest.data].map(({ item }) => item.id),
        ends: [second.nextCursor, rest.nextCursor],
        ofTurn: (await s.pages.items(thread, page(), 't2')).data.map(({ item }) => item.id),
      }
    }
    const grown = await pages(store)
    expect(grown).toEqual({
      turns: [
        ['t3', 'completed', ['u-t3', 'm-t3']],
        ['t2', 'completed', ['u-t2', 'm-t2']],
        ['t1', 'completed', []],
      ],
      items: ['u-t1', 'm-t1', 'u-t2', 'm-t2', 'u-t3', 'm-t3'],
      ends: [null, null],
      ofTurn: ['u-t2', 'm-t2'],
    })
    await log.close()
    await store.close()
    for (const end of ['', '-wal', '-shm']) rmSync(join(home, `thread-index.sqlite${end}`), { force: true })
    store = openStore()
    expect(await pages(store)).toEqual(grown)
    writeFileSync(
      join(home, 'thread-index.sqlite'),
      'not a database at all, but long enough to be looked at'.repeat(50),
    )
    await store.close()
    store = openStore()
  })

  it('replaces an unreadable index, keeps it aside and says so', async () => {
    await (await made(1, ['t1'])).close()
    await store.close()
    for (const end of ['-wal', '-shm']) rmSync(join(home, `thread-index.sqlite${end}`), { force: true })
    writeFileSync(join(home, 'thread-index.sqlite'), 'not a database '.repeat(500))
    store = openStore()
    expect(await listed()).toEqual([ID(1)])
    expect(problems.join()).toMatch(/not a readable thread index; it was kept as .*unreadable/)
  })

  it('reads turns and history whole, an unfinished turn as it was left', async () => {
    const log = store.create(meta(1))
    turn(log, 't1')
    turn(log, 't2', null)
    await log.flush()
    const { projection } = await store.read(log.thread, 'all')
    expect(projection.turns.map((t) => [t.id, t.status, t.items.length])).toEqual([
      ['t1', 'completed', 2],
      ['t2', 'inProgress', 2],
    ])
    expect(projection.history.length).toBe(4)
    projection.closeOpenTurns()
    expect(projection.turns[1]!.status).toBe('interrupted')
    expect(projection.turnContext).toMatchObject({ turn_id: 't2' })
  })

  it('E100 goes on after a torn line: nothing else is lost and ordinals go up', async () => {
    const log = await made(1, ['t1'])
    const { path } = log.thread
    await log.close()
    appendFileSync(path, '{"timestamp":"2026","ordinal":99,"type":"event_msg","payl')
    const again = (await store.open(ID(1))).log
    turn(again, 't2')
    await again.flush()
    expect(await turnIds(ID(1))).toEqual(['t1', 't2'])
    const { projection, damaged } = await store.read(again.thread, 'all')
    expect([projection.turns.length, damaged.length]).toEqual([2, 1])
    const ordinals = readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((l) => {
        try {
          return [(JSON.parse(l) as { ordinal: number }).ordinal]
        } catch {
          return []
        }
      })
    expect(ordinals).toEqual([...ordinals].sort((a, b) => a - b))
    expect(new Set(ordinals).size).toBe(ordinals.length)
  })
})

it('a backwards cursor gives the page again in its own direction, and only what is new in the other', async () => {
  const log = await made(1, ['t1', 't2'])
  const { thread } = (await store.find(ID(1)))!
  const newest = await store.pages.turns(thread, page({ limit: 1, descending: true }), 'notLoaded')
  const ids = async (descending: boolean) =>
    (await store.pages.turns(thread, page({ cursor: newest.backwardsCursor, descending }), 'notLoaded')).data.map(
      (t) => t.id,
    )
  expect([await ids(true), await ids(false)]).toEqual([['t2', 't1'], []])
  turn(log, 't3')
  await log.flush()
  expect(await ids(false)).toEqual(['t3'])
})

describe('history that was taken back', () => {
  it.each([
    ['one turn', 1, ['t1', 't2']],
    ['all turns and more', 9, []],
  ])('rolls back %s, in pages and in the model history', async (_, numTurns, left) => {
    const log = await made(1, ['t1', 't2', 't3'])
    log.append('event_msg', { type: 'thread_rolled_back', num_turns: numTurns })
    await log.flush()
    expect(await turnIds(ID(1))).toEqual(left)
    const { projection } = await store.read(log.thread, 'all')
    expect([projection.turns.map((t) => t.id), projection.history.length]).toEqual([left, left.length * 2])
  })

  it('brings the older context back when a rollback crosses a compaction', async () => {
    const log = await made(1, ['t1'])
    log.append('compacted', {
      message: 's',
      replacement_history: [{ type: 'message', role: 'user', content: 'summary' }],
    })
    turn(log, 't2')
    log.append('event_msg', { type: 'thread_rolled_back', num_turns: 1 })
    log.append('event_msg', { type: 'thread_rolled_back', num_turns: 1 })
    await log.flush()
    expect((await store.read(log.thread, 'all')).projection.history).toEqual([])
  })

  it('reverts to before a turn', async () => {
    const log = await made(1, ['t1', 't2', 't3'])
    log.append('event_msg', { type: 'thread_reverted', before_turn_id: 't2' })
    turn(log, 't4')
    await log.flush()
    expect(await turnIds(ID(1))).toEqual(['t1', 't4'])
    expect((await store.read(log.thread, 'all')).projection.turns.map((t) => t.id)).toEqual(['t1', 't4'])
  })

  it('E109 gives a lost call one output, once, and drops an output nobody asked for', () => {
    const call = (id: string) => ({ type: 'function_call', call_id: id })
    const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' })
    const first = repairHistory([call('c1'), output('c1'), call('c2'), output('c9')])
    expect(first).toEqual({
      history: [
        call('c1'),
        output('c1'),
        call('c2'),
        { type: 'function_call_output', call_id: 'c2', output: 'aborted' },
      ],
      added: [{ type: 'function_call_output', call_id: 'c2', output: 'aborted' }],
    })
    expect(repairHistory(first.history).added).toEqual([])
  })
})

it('a fork shows its base up to the cut, then its own, and leaves the base alone', async () => {
  const log = await made(1, ['t1', 't2'])
  const cut = readFileSync(log.thread.path, 'utf8')
    .split('\n')
    .map((l) => (l ? (JSON.parse(l) as { ordinal: number; payload: { turn_id?: string; type?: string } }) : null))
    .find((r) => r?.payload.type === 'task_started' && r.payload.turn_id === 't2')!.ordinal
  const fork = store.create(
    meta(2, {
      forked_from_id: ID(1),
      history_base: { thread_id: ID(1), end_ordinal_exclusive: cut, end_byte_offset: 0 },
    }),
  )
  turn(fork, 'f1')
  await fork.flush()
  expect([await turnIds(ID(1)), await turnIds(ID(2))]).toEqual([
    ['t1', 't2'],
    ['t1', 'f1'],
  ])
  const { thread } = (await store.find(ID(2)))!
  const last = await store.pages.turns(thread, page({ limit: 1, descending: true }), 'full')
  const next = await store.pages.turns(thread, page({ limit: 1, descending: true, cursor: last.nextCursor }), 'full')
  expect([last.data[0]!.id, next.data[0]!.id, next.nextCursor]).toEqual(['f1', 't1', null])
  expect((await store.pages.items(thread, page({ limit: 3 }))).data.map(({ item }) => item.id)).toEqual([
    'u-t1',
    'm-t1',
    'u-f1',
  ])
})

describe('one writer', () => {
  it('E103 tells a second store that the thread is in use, and lets it in afterwards', async () => {
    const log = await made(1, ['t1'])
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    try {
      await log.close()
      const identity = await import('../../rpc/process-identity.ts').then((m) => m.readProcessIdentity(other.pid!))
      mkdirSync(join(home, 'thread-writer-locks'), { recursive: true })
      writeFileSync(join(home, 'thread-writer-locks', `${ID(1)}.lock`), JSON.stringify(identity))
      await expect(store.open(ID(1))).rejects.toThrow(new RegExp(`in use by process ${other.pid}`))
      expect(await turnIds(ID(1))).toEqual(['t1'])
      const gone = new Promise((resolve) => other.on('exit', resolve))
      other.kill('SIGKILL')
      await gone
      await (await store.open(ID(1))).log.close()
    } finally {
      other.kill('SIGKILL')
    }
  })

  it('takes over the lock of a pid that another process has by now, and an unreadable one', async () => {
    const folder = join(home, 'locks')
    mkdirSync(folder)
    for (const content of [JSON.stringify({ pid: process.pid, startedAt: 'long ago' }), '{"pid":']) {
      writeFileSync(join(folder, 'x.lock'), content)
      ;(await acquireWriterLock(folder, 'x')).release()
    }
    const held = await acquireWriterLock(folder, 'x')
    await expect(acquireWriterLock(folder, 'x')).rejects.toThrow(ThreadInUse)
    held.release()
  })
})

it('archives, brings back and deletes', async () => {
  await (await made(1, ['t1'])).close()
  const archived = await store.setArchived(ID(1), true)
  expect([await listed(), archived.path.includes('archived_sessions'), existsSync(archived.path)]).toEqual([
    [],
    true,
    true,
  ])
  const back = await store.setArchived(ID(1), false)
  expect([await listed(), existsSync(back.path), await turnIds(ID(1))]).toEqual([[ID(1)], true, ['t1']])
  await store.delete(ID(1))
  expect([await listed(), existsSync(back.path)]).toEqual([[], false])
  await expect(store.delete(ID(1))).rejects.toThrow(ThreadMissing)
})

it('E108 folders whose names look alike keep their sessions apart, whatever their names and lengths', async () => {
  const folders = ['/ws/x-y/z', '/ws/x/y-z', '/ws/文件一', '/ws/资料二', `/ws/${'d'.repeat(4000)}`]
  for (const [n, cwd] of folders.entries()) {
    const log = store.create(meta(n + 1, { cwd }))
    log.append('event_msg', { type: 'task_started', turn_id: 't', started_at: 1 })
    log.append('turn_context', { turn_id: 't', cwd, model: 'm' })
    await log.flush(true)
    expect(Buffer.byteLength(log.thread.path.split('/').at(-1)!)).toBeLessThan(255)
    await log.close()
  }
  const listedOf = async (cwd: string) =>
    (await store.list({ ...everything, cwds: [cwd] }, null)).threads.map((thread) => thread.id)
  for (const [n, cwd] of folders.entries()) expect(await listedOf(cwd)).toEqual([ID(n + 1)])
  await store.delete(ID(1))
  expect([await listedOf(folders[0]!), (await listed()).length]).toEqual([[], 4])
})

it('E112 records stay in the order of the file, and a clock that was wrong makes no time to come', async () => {
  const log = store.create(meta(1))
  const times = ['2026-03-29T02:59:59+01:00', '2026-03-29T02:10:00+01:00', '2099-01-01T00:00:00Z']
  log.append('event_msg', { type: 'task_started', turn_id: 't', started_at: 1 })
  await log.flush(true)
  const { path } = log.thread
  await log.close()
  const line = (timestamp: string, n: number) => {
    const item = { type: 'agentMessage', id: `m${n}`, text: String(n), phase: null, memoryCitation: null }
    const payload = { type: 'item_completed', turn_id: 't', item, started_at_ms: 2, completed_at_ms: 1 }
    return `${JSON.stringify({ timestamp, ordinal: 100 + n, type: 'event_msg', payload })}\n`
  }
  appendFileSync(path, times.map(line).join(''))
  await (await store.open(ID(1))).log.close()
  const thread = (await store.find(ID(1)))!.thread
  expect((await store.pages.items(thread, page())).data.map(({ item }) => item.id)).toEqual(['m0', 'm1', 'm2'])
  expect(thread.updatedAtMs).toBeLessThanOrEqual(now)
})

it('lists 300 threads in pages without gaps or repeats, filtered and searched', async () => {
  for (let n = 0; n < 300; n++) {
    const log = store.create(meta(n, { model_provider: n % 2 ? 'odd' : 'even' }))
    turn(log, n === 7 ? '100%_match' : `t${n}`)
    await log.flush()
    await log.close()
  }
  const seen: string[] = []
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const { threads, nextCursor } = await store.list({ ...everything, limit: 40, modelProviders: ['odd'] }, cursor)
    seen.push(...threads.map((t) => t.id))
    cursor = nextCursor
  }
  expect([seen.length, new Set(seen).size, seen[0]]).toEqual([150, 150, ID(299)])
  expect((await store.list({ ...everything, searchTerm: '100%_m' }, null)).threads.map((t) => t.id)).toEqual([ID(7)])
  await expect(store.list(everything, 'nonsense')).rejects.toThrow(/cursor/)
})

it('searches names and first words, in any case and script', async () => {
  for (const [n, words] of ['Grüße aus ZÜRICH', 'plain', 'ΑΘΗΝΑ'].entries()) {
    const log = store.create(meta(n))
    turn(log, words)
    if (n === 1) log.append('event_msg', { type: 'thread_name_updated', thread_name: 'My E\u0301tude' })
    await log.flush()
  }
  const found = async (searchTerm: string) =>
    (await store.list({ ...everything, searchTerm }, null)).threads.map((t) => t.id)
  expect(await found('zürich')).toEqual([ID(0)])
  expect(await found('GRÜSSE')).toEqual([])
  expect(await found(' étude ')).toEqual([ID(1)])
  expect(await found('αθηνα')).toEqual([ID(2)])
  expect(await found('ask')).toEqual([ID(2), ID(1), ID(0)])
  expect(await found('%')).toEqual([])
})

describe('an index that others write too', () => {
  /** Lists until the list is what it should be; the look at the files happens behind an answer. */
  const eventually = (s: ThreadStore, ids: string[]) => expect.poll(() => listed(s), { timeout: 30_000 }).toEqual(ids)

  it('shows at once what a second store did: new, archived, deleted', async () => {
    const second = openStore()
    try {
      await (await made(1, ['t1'])).close()
      await (await made(2, ['t1'])).close()
      expect(await listed(second)).toEqual([ID(2), ID(1)])
      await store.setArchived(ID(2), true)
      expect(await listed(second)).toEqual([ID(1)])
      await store.delete(ID(1))
      expect(await listed(second)).toEqual([])
    } finally {
      await second.close()
    }
  })

  it('finds what another program added, wrote or took away, in folders new and old', async () => {
    await (await made(1, ['t1'])).close()
    const { path } = (await store.find(ID(1)))!.thread
    expect(await listed()).toEqual([ID(1)])
    const other = join(home, 'sessions/2031/01/02', `rollout-2031-01-02T03-04-05-${ID(2)}.jsonl`)
    mkdirSync(dirname(other), { recursive: true })
    writeFileSync(other, readFileSync(path, 'utf8').replaceAll(ID(1), ID(2)))
    await eventually(store, [ID(2), ID(1)])
    appendFileSync(
      other,
      formatRecord({
        timestamp: '2026-06-01T13:00:00.000Z',
        ordinal: 99,
        type: 'event_msg',
        payload: { type: 'thread_name_updated', thread_name: 'named elsewhere' },
      }),
    )
    await expect
      .poll(async () => (await store.list(everything, null)).threads[0]!.name, { timeout: 30_000 })
      .toBe('named elsewhere')
    rmSync(join(home, 'sessions/2031'), { recursive: true })
    await eventually(store, [ID(1)])
    rmSync(path)
    await eventually(store, [])
  })

  it('an index of another version is built anew without a word', async () => {
    await (await made(1, ['t1'])).close()
    await store.close()
    const path = join(home, 'thread-index.sqlite')
    const db = openSqlite(path)
    db.exec('delete from threads; pragma user_version = 1')
    db.close()
    store = openStore()
    expect(await listed()).toEqual([ID(1)])
    expect(problems).toEqual([])
  })

  it('a first look at the files that was cut short is done again by the next process', async () => {
    await (await made(1, ['t1'])).close()
    await store.close()
    const db = openSqlite(join(home, 'thread-index.sqlite'))
    db.exec('delete from threads; delete from facts')
    db.close()
    store = openStore()
    expect(await listed()).toEqual([ID(1)])
  })
})

it('an item told again, also by a later process, stands once, where it was told last', async () => {
  const log = await made(1, ['t1', 't2'])
  await log.close()
  const again = (await store.open(ID(1))).log
  for (let i = 0; i < 2; i++)
    again.append('event_msg', {
      type: 'item_completed',
      turn_id: 't1',
      item: { type: 'agentMessage', id: 'm-t1', text: `late ${i}`, phase: null, memoryCitation: null },
    })
  await again.flush()
  const { data } = await store.pages.items(again.thread, page())
  expect(data.map(({ item }) => item.id)).toEqual(['u-t1', 'u-t2', 'm-t2', 'm-t1'])
  expect(data.at(-1)!.item).toMatchObject({ text: 'late 1' })
})

it('reads a file that Codex wrote, and never puts a doubtful date in front of now', async () => {
  const id = ID(5)
  const path = join(home, 'sessions/2026/03/29', `rollout-2026-03-29T02-00-00-${id}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  const lines: [string, string, Record<string, unknown>][] = [
    ['2026-03-29T01:00:00.000Z', 'session_meta', { ...meta(5), timestamp: '2026-03-29T01:00:00.000Z' }],
    ['2026-03-29T01:00:01.000Z', 'event_msg', { type: 'task_started', turn_id: 'T' }],
    [
      '2026-03-29T00:10:00.000Z',
      'event_msg',
      {
        type: 'item_completed',
        turn_id: 'T',
        item: { type: 'UserMessage', id: 'u', content: [{ type: 'text', text: 'hi', text_elements: [] }] },
      },
    ],
    [
      '2031-01-01T00:00:00.000Z',
      'event_msg',
      {
        type: 'item_completed',
        turn_id: 'T',
        item: {
          type: 'CommandExecution',
          id: 'c',
          process_id: '7',
          command: ['/bin/bash', '-lc', "echo 'a b'"],
          cwd: 'file:///w%20x',
          parsed_cmd: [{ type: 'read', cmd: 'cat f', name: 'f', path: 'f' }],
          source: 'unified_exec_startup',
          status: 'completed',
          aggregated_output: 'a b\n',
          exit_code: 0,
          duration: { secs: 1, nanos: 5_000_000 },
        },
      },
    ],
    [
      '2026-03-29T01:00:03.000Z',
      'event_msg',
      {
        type: 'item_completed',
        turn_id: 'T',
        item: {
          type: 'FileChange',
          id: 'f',
          status: 'completed',
          changes: { '/w/a': { type: 'update', unified_diff: '@@', move_path: null } },
        },
      },
    ],
    [
      '2026-03-29T01:00:03.000Z',
      'event_msg',
      { type: 'item_completed', turn_id: 'T', item: { type: 'SomethingNew', id: 'n' } },
    ],
    ['2026-03-29T01:00:04.000Z', 'event_msg', { type: 'task_complete', turn_id: 'T' }],
  ]
  writeFileSync(
    path,
    lines.map(([timestamp, type, payload], ordinal) => formatRecord({ timestamp, ordinal, type, payload })).join(''),
  )
  const { thread } = (await store.find(id))!
  expect(thread.updatedAtMs).toBeLessThanOrEqual(now)
  expect((await store.pages.turns(thread, page(), 'full')).data[0]!.items).toMatchObject([
    { type: 'userMessage', id: 'u' },
    {
      type: 'commandExecution',
      command: "/bin/bash -lc 'echo '\\''a b'\\'''",
      cwd: '/w x',
      source: 'unifiedExecStartup',
      exitCode: 0,
      durationMs: 1005,
      commandActions: [{ type: 'read', name: 'f' }],
    },
    { type: 'fileChange', changes: [{ path: '/w/a', kind: { type: 'update', move_path: null } }] },
  ])
})

it('E102 no acknowledged record is lost to kill -9 at random moments', async () => {
  const source = join(home, 'writer.ts')
  writeFileSync(
    source,
    `import { RolloutWriter } from ${JSON.stringify(join(import.meta.dirname, 'rollout-writer.ts'))}
     async function run() {
       const w = new RolloutWriter({ path: process.argv[2], onWritten() {} })
       for (let i = 0; ; i++) {
         w.append([{ timestamp: 't', ordinal: i, type: 'x', payload: { run: process.argv[3], fill: 'y'.repeat(i % 3000) } }])
         await w.flush(true)
         process.stdout.write(i + '\\n')
       }
     }
     void run()`,
  )
  await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      ssr: source,
      outDir: home,
      emptyOutDir: false,
      rolldownOptions: { output: { format: 'cjs', entryFileNames: 'writer.cjs' } },
    },
  })
  const script = join(home, 'writer.cjs')
  const path = join(home, 'k.jsonl')
  const acknowledged: string[] = []
  for (let run = 0; run < 6; run++) {
    const child = spawn(process.execPath, [script, path, String(run)], { stdio: ['ignore', 'pipe', 'ignore'] })
    let out = ''
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (d: Buffer) => {
        out += d.toString()
        if (out.split('\n').length > 20 + run * 7) child.kill('SIGKILL')
      })
      child.on('close', () => resolve())
    })
    acknowledged.push(
      ...out
        .split('\n')
        .slice(0, -1)
        .map((i) => `${run}/${i}`),
    )
  }
  const kept = new Set(
    existsSync(path)
      ? readFileSync(path, 'utf8')
          .split('\n')
          .flatMap((l) => {
            try {
              const r = JSON.parse(l) as { ordinal: number; payload: { run: string } }
              return [`${r.payload.run}/${r.ordinal}`]
            } catch {
              return []
            }
          })
      : [],
  )
  expect(acknowledged.length).toBeGreaterThan(100)
  expect(acknowledged.filter((a) => !kept.has(a))).toEqual([])
})
