// Measures lists, searches and long sessions of the app server in out/. Prints a table for
// docs/performance.md. `node scripts/measure-sessions.mjs [threads] [items]`
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [threads = 10_000, items = 50_000] = process.argv.slice(2).map(Number)
const home = mkdtempSync(join(tmpdir(), 'gatehouse-measure-'))
const LONG = '01a00000-0000-7000-9000-000000000000'
const rows = []

const idOf = (n) => `01a00000-0000-7000-8000-${String(n).padStart(12, '0')}`
const line = (atMs, ordinal, type, payload) =>
  `${JSON.stringify({ timestamp: new Date(atMs).toISOString(), ordinal, type, payload })}\n`

/** One session's file, as the app server writes it. */
function writeThread(id, atMs, words, messages) {
  const turn = `${id.slice(0, -12)}ffffffffffff`
  let ordinal = 0
  const add = (type, payload) => line(atMs, ordinal++, type, payload)
  const item = (content) =>
    add('event_msg', {
      type: 'item_completed',
      thread_id: id,
      turn_id: turn,
      item: { ...content, startedAtMs: atMs, completedAtMs: atMs },
      started_at_ms: atMs,
      completed_at_ms: atMs,
    })
  const parts = [
    add('session_meta', {
      id,
      session_id: id,
      timestamp: new Date(atMs).toISOString(),
      cwd: `/work/project-${id.slice(-2)}`,
      originator: 'measure',
      cli_version: '1',
      source: 'vscode',
      model_provider: 'openai',
      history_mode: 'paginated',
      base_instructions: { text: 'x'.repeat(2_000) },
    }),
    add('event_msg', { type: 'task_started', turn_id: turn, root_turn_id: turn, started_at: Math.floor(atMs / 1000) }),
    add('turn_context', { turn_id: turn, cwd: `/work/project-${id.slice(-2)}`, model: 'm', approval_policy: 'never' }),
    item({ type: 'userMessage', id: 'u', clientId: null, content: [{ type: 'text', text: words }] }),
  ]
  for (let n = 0; n < messages; n++) {
    const text = `message ${n}: the harbour was quiet, and nobody had asked for "${n}" before`
    parts.push(
      add('response_item', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }),
      item({ type: 'agentMessage', id: `m-${n}`, text, phase: null, memoryCitation: null }),
    )
  }
  parts.push(
    add('event_msg', { type: 'task_complete', turn_id: turn, completed_at: Math.floor(atMs / 1000), duration_ms: 5 }),
  )
  const day = new Date(atMs).toISOString().slice(0, 10)
  const folder = join(home, 'sessions', ...day.split('-'))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `rollout-${day}T00-00-00-${id}.jsonl`), parts.join(''))
}

/** A fresh process; `call` gives the result and the milliseconds it took. */
async function start() {
  const child = spawn(process.execPath, [join(root, 'bin/gatehouse'), 'app-server'], {
    env: { ...process.env, CODEX_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map()
  let parts = []
  child.stdout.on('data', (data) => {
    for (let from = 0; from < data.length;) {
      const end = data.indexOf(10, from)
      parts.push(data.subarray(from, end === -1 ? data.length : end))
      if (end === -1) return
      const message = JSON.parse(Buffer.concat(parts).toString('utf8'))
      parts = []
      from = end + 1
      if (message.error) throw new Error(message.error.message)
      waiting.get(message.id)?.(message.result)
    }
  })
  let id = 0
  const call = async (method, params) => {
    const begun = performance.now()
    const result = await new Promise((resolve) => {
      waiting.set(++id, resolve)
      child.stdin.write(`${JSON.stringify({ id, method, params })}\n`)
    })
    return { result, ms: performance.now() - begun }
  }
  await call('initialize', { clientInfo: { name: 'measure', title: null, version: '1' }, capabilities: null })
  const end = () =>
    new Promise((resolve) => {
      child.once('exit', resolve)
      child.stdin.end()
    })
  return { call, end }
}

const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]
const note = (what, ms) => rows.push([what, `${ms.toFixed(1)} ms`])

/** The median over fresh processes. */
async function cold(what, method, params, rounds = 5) {
  const times = []
  for (let round = 0; round < rounds; round++) {
    const server = await start()
    times.push((await server.call(method, params)).ms)
    await server.end()
  }
  note(what, middle(times))
}

async function warm(server, what, params, isRight = () => true) {
  const times = []
  for (let round = 0; round < 21; round++) {
    const { result, ms } = await server.call('thread/list', params)
    if (!isRight(result)) throw new Error(`${what}: ${result.data.length} rows`)
    times.push(ms)
  }
  note(what, middle(times))
}

async function measure() {
  const firstMs = Date.UTC(2026, 0, 1)
  for (let n = 0; n < threads; n++)
    writeThread(idOf(n), firstMs + n * 60_000, `task ${n}: ${n % 100 === 7 ? 'Überfahrt' : 'repair the roof'}`, 1)
  writeThread(LONG, Date.UTC(2025, 11, 1), 'the long one', items - 1)

  const building = await start()
  note(`index of ${threads} sessions built from their files`, (await building.call('thread/list', { limit: 50 })).ms)
  await building.end()
  await cold('first page of 50, cold', 'thread/list', { limit: 50 })

  const server = await start()
  await server.call('thread/list', { limit: 50 })
  await warm(server, 'first page of 50, warm', { limit: 50 })
  await warm(server, 'search, many matches', { limit: 50, searchTerm: 'ROOF' }, ({ data }) => data.length === 50)
  await warm(server, 'search, few matches', { limit: 100, searchTerm: 'überfahrt' }, ({ data }) => data.length > 0)
  await warm(server, 'search, no match', { limit: 50, searchTerm: 'submarine' }, ({ data }) => data.length === 0)
  await warm(server, 'sessions of one folder', { limit: 50, cwd: '/work/project-42' })
  const pages = []
  const seen = new Set()
  for (let cursor = null, more = true; more; more = cursor !== null) {
    const { result, ms } = await server.call('thread/list', { limit: 100, cursor })
    pages.push(ms)
    for (const { id } of result.data) seen.add(id)
    cursor = result.nextCursor
  }
  if (seen.size !== threads + 1) throw new Error(`${seen.size} sessions were listed`)
  note('a page of 100 by cursor, median of all', middle(pages))
  note('the last one of them', pages.at(-1))
  await server.end()

  await cold(`session of ${items} items, cold, without turns`, 'thread/resume', { threadId: LONG, excludeTurns: true })
  await cold(`session of ${items} items, cold, whole`, 'thread/resume', { threadId: LONG })
  await cold('its last 100 items, cold', 'thread/items/list', { threadId: LONG, limit: 100, sortDirection: 'desc' })
}

try {
  await measure()
  console.log('| what | median |\n|--|--|')
  for (const row of rows) console.log(`| ${row.join(' | ')} |`)
} finally {
  rmSync(home, { recursive: true, force: true })
}
