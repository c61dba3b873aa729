import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readTextChunks } from './read-text-chunks.ts'
import { readThread } from './read-thread.ts'
import { readTurnTexts } from './read-turn-texts.ts'
import { threadFromMeta } from './rollout-indexer.ts'
import { formatRecord } from './rollout-record.ts'

let home: string
let path: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gh-texts-'))
  path = join(home, 'r.jsonl')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

type Event = Record<string, unknown> & { type: string }
const file = (events: readonly (Event | [string, Record<string, unknown>])[]) =>
  events
    .map((event, ordinal) => {
      const [type, payload] = Array.isArray(event) ? event : ['event_msg', event]
      return formatRecord({ timestamp: '2026-06-01T12:00:00.000Z', ordinal, type, payload })
    })
    .join('')
const started = (turn: string): Event => ({ type: 'task_started', turn_id: turn, started_at: 1 })
const ended = (turn: string): Event => ({ type: 'task_complete', turn_id: turn, completed_at: 2, duration_ms: 5 })
const item = (turn: string, item: Record<string, unknown>): Event => ({
  type: 'item_completed',
  thread_id: 'T',
  turn_id: turn,
  item,
  started_at_ms: 1_796_087_394_274,
  completed_at_ms: 1_796_087_394_275,
})
const said = (turn: string, id: string, text: string, more = {}) =>
  item(turn, { type: 'agentMessage', id, text, phase: null, memoryCitation: null, ...more })
const asked = (turn: string, id: string) =>
  item(turn, { type: 'userMessage', id, clientId: null, content: [{ type: 'text', text: 'go' }] })
const ran = (turn: string, id: string) =>
  item(turn, {
    type: 'commandExecution',
    id,
    command: 'ls',
    commandActions: [{ type: 'unknown', command: 'ls' }],
    exitCode: 0,
  })
const forModel: [string, Record<string, unknown>] = [
  'response_item',
  { type: 'message', role: 'assistant', content: [] },
]

const ordinary = [
  started('t1'),
  asked('t1', 'u1'),
  forModel,
  said('t1', 'm1', 'plain'),
  forModel,
  ran('t1', 'c1'),
  said('t1', 'm2', 'quotes " and \\ and \n and Grüße, 你好 \u2028 \ud83d\ude00 {"timestamp":"x"}'),
  ended('t1'),
  started('t2'),
  asked('t2', 'u2'),
  item('t2', { type: 'reasoning', id: 'r1', summary: ['why'], content: [] }),
  said('t2', 'm3', 'open'),
]

/** Both ways to read must tell the same; the texts must be JSON whatever the file holds. */
async function both(content: string | Buffer) {
  writeFileSync(path, content)
  const thread = threadFromMeta({ id: 'T', cwd: '/w' }, path, false, 1)
  const nowhere = () => Promise.resolve(null)
  const texts = await readTurnTexts(thread, nowhere)
  const told = texts.map(({ turn, items }) => ({
    ...turn,
    items: JSON.parse(`[${Buffer.concat(items).toString('utf8')}]`) as { id: string }[],
  }))
  const { projection } = await readThread(thread, nowhere, 'turns')
  expect(told).toEqual(JSON.parse(JSON.stringify(projection.turns)))
  return told.map((turn) => [turn.id, turn.items.map(({ id }) => id)])
}

it.each<[string, readonly (Event | [string, Record<string, unknown>])[], unknown]>([
  [
    'items of every form',
    ordinary,
    [
      ['t1', ['u1', 'm1', 'c1', 'm2']],
      ['t2', ['u2', 'r1', 'm3']],
    ],
  ],
  [
    'an item told twice',
    [started('t1'), said('t1', 'm1', 'a'), said('t1', 'm2', 'b'), said('t1', 'm1', 'c')],
    [['t1', ['m1', 'm2']]],
  ],
  [
    'an item that ends in a later turn',
    [started('t1'), started('t2'), said('t2', 'a', 'x'), ran('t1', 'c')],
    [
      ['t1', ['c']],
      ['t2', ['a']],
    ],
  ],
  [
    'an item of a turn that never began',
    [started('t1'), said('t9', 'm', 'x')],
    [
      ['t1', []],
      ['t9', ['m']],
    ],
  ],
  [
    'a rollback',
    [...ordinary, { type: 'thread_rolled_back', num_turns: 1 }, started('t3'), said('t3', 'm4', 'x')],
    [
      ['t1', ['u1', 'm1', 'c1', 'm2']],
      ['t3', ['m4']],
    ],
  ],
  [
    'a revert, and the turn again',
    [...ordinary, { type: 'thread_reverted', before_turn_id: 't2' }, said('t2', 'm9', 'x')],
    [
      ['t1', ['u1', 'm1', 'c1', 'm2']],
      ['t2', ['m9']],
    ],
  ],
  [
    'an item with times of its own',
    [started('t1'), said('t1', 'm1', 'a', { startedAtMs: 3, completedAtMs: 4 })],
    [['t1', ['m1']]],
  ],
  [
    'items that hold their times, as they are stored today',
    [
      started('t1'),
      ...[',"completedAtMs":1', 'plain', ','.repeat(60), ''].map((text, n) =>
        said('t1', `m${n}`, text, { startedAtMs: 1_796_087_394_274, completedAtMs: 1_796_087_394_275 }),
      ),
    ],
    [['t1', ['m0', 'm1', 'm2', 'm3']]],
  ],
  [
    'what Codex wrote',
    [started('t1'), item('t1', { type: 'AgentMessage', id: 'm', content: [{ type: 'Text', text: 'x' }] })],
    [['t1', ['m']]],
  ],
  [
    'messages as events',
    [started('t1'), { type: 'user_message', message: 'hi' }, { type: 'agent_message', message: 'ho' }],
    [['t1', ['t1-0', 't1-1']]],
  ],
])('the texts of turns are what reading them gives: %s', async (_, events, wanted) => {
  expect(await both(file(events))).toEqual(wanted)
})

it('a torn line costs itself, not what stands behind it on the same line', async () => {
  const lines = file(ordinary).split('\n')
  for (const at of [3, 4, 5]) {
    const torn = lines.with(at, lines[at]!.slice(0, lines[at]!.length >> 1) + lines[at + 1])
    torn.splice(at + 1, 1)
    await both(torn.join('\n'))
  }
  expect(await both(file(ordinary).slice(0, -40))).toEqual([
    ['t1', ['u1', 'm1', 'c1', 'm2']],
    ['t2', ['u2', 'r1']],
  ])
})

it('damage at any place leaves an answer that can be read', async () => {
  const whole = Buffer.from(file(ordinary), 'utf8')
  const kinds = [0, 0x22, 0x5c, 0x7d, 0x0a, 0xff]
  for (let at = 0; at < whole.length; at += 11) {
    const damaged = Buffer.from(whole)
    damaged[at] = kinds[at % kinds.length]!
    await both(damaged)
  }
})

it('gives a file in pieces of whole lines, characters and long lines unbroken', async () => {
  const lines = [
    'a'.repeat(100),
    '漢字'.repeat(400_000),
    ...Array.from({ length: 9_000 }, (_, i) => `${i} ünï ${'x'.repeat(300)}`),
    'without an end',
  ]
  writeFileSync(path, lines.join('\n'))
  const chunks: string[] = []
  for await (const { text, bytes } of readTextChunks(path)) {
    chunks.push(text)
    if (bytes) expect(bytes.toString('utf8') === text).toBe(true)
    expect(bytes === null).toBe(/[^\x00-\x7f]/.test(text))
  }
  expect(chunks.join('') === lines.join('\n')).toBe(true)
  expect(chunks.length).toBeGreaterThan(2)
  expect(chunks.slice(0, -1).every((chunk) => chunk.endsWith('\n'))).toBe(true)
})
