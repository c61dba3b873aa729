// Keeps the built exec server busy for a long time and watches whether it grows: clients that start
// commands on pipes and terminals, page through output, type, interrupt, read and write files, are cut off
// and come back, and send nonsense. Every byte is checked. Exits 1 when an answer was wrong or memory or
// descriptors did not stay within 10 % after the warm-up.
//
//   node scripts/soak-exec-server.mjs [--minutes 30] [--clients 20] [--warm-up-minutes 5] [--seed N]
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    clients: { type: 'string', default: '20' },
    'warm-up-minutes': { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const durationMs = Number(values.minutes) * 60_000
const warmUpMs = Number(values['warm-up-minutes']) * 60_000
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-soak-'))
const file = join(dirname(dirname(fileURLToPath(import.meta.url))), 'out/sidecars/exec-server.cjs')
const server = spawn(process.execPath, [file, '--listen', 'ws://127.0.0.1:0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, TMPDIR: folder },
})
const url = await new Promise((resolve) => server.stdout.once('data', (bytes) => resolve(String(bytes).trim())))
console.log(`seed ${values.seed}, server ${server.pid} at ${url}`)

/** Deterministic per client, so that a failure can be looked for again. */
function randomFrom(seed) {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const faults = []
const counts = new Map()
const must = (isRight, what) => {
  if (!isRight) throw new Error(what)
}

class Client {
  pending = new Map()
  processes = new Map()
  nextId = 1

  async connect(resumeSessionId) {
    this.socket = new WebSocket(url, { perMessageDeflate: false })
    this.socket.on('error', () => {})
    this.socket.on('message', (data) => this.receive(JSON.parse(String(data))))
    this.socket.on('close', () => {
      for (const { reject } of this.pending.values()) reject(new Error('connection closed'))
      this.pending.clear()
    })
    await new Promise((resolve, reject) => {
      this.socket.once('open', resolve)
      this.socket.once('close', () => reject(new Error('connection refused')))
    })
    const { sessionId } = await this.call('initialize', { clientName: 'soak', resumeSessionId })
    this.sessionId = sessionId
    this.socket.send('{"method":"initialized"}')
  }
  call(method, params) {
    const id = this.nextId++
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, method })
      this.socket.send(JSON.stringify({ id, method, params }))
    })
  }
  receive({ id, method, params, result, error }) {
    if (method === undefined) {
      const waiting = this.pending.get(id)
      this.pending.delete(id)
      if (error) waiting?.reject(new Error(`${waiting.method}: ${error.message}`))
      else waiting?.resolve(result)
      return
    }
    const process = this.processes.get(params.processId)
    if (!process) return
    process.events.set(params.seq, method === 'process/output' ? Buffer.from(params.chunk, 'base64') : method)
    if (method === 'process/exited') process.exitCode = params.exitCode
    if (method === 'process/closed') process.lastSeq = params.seq
    process.wake?.()
  }
  /** Starts a command and resolves, when it has closed, with its output and exit code. */
  async run(argv, options = {}, during = async () => {}) {
    const processId = randomUUID()
    const process = { events: new Map(), exitCode: undefined, lastSeq: undefined, wake: undefined }
    this.processes.set(processId, process)
    await this.call('process/start', {
      processId,
      argv,
      cwd: 'file:///tmp',
      env: { PATH: '/usr/bin:/bin' },
      tty: false,
      ...options,
    })
    await during(processId, process)
    while (process.lastSeq === undefined) await new Promise((resolve) => (process.wake = resolve))
    this.processes.delete(processId)
    const chunks = []
    for (let seq = 1; seq < process.lastSeq; seq++) {
      must(process.events.has(seq), `event ${seq} of ${argv.join(' ')} is missing`)
      const event = process.events.get(seq)
      if (Buffer.isBuffer(event)) chunks.push(event)
    }
    return { output: Buffer.concat(chunks), exitCode: process.exitCode }
  }
  drop() {
    this.socket.terminate()
  }
}

const sha = (bytes) => createHash('sha256').update(bytes).digest('hex')
const WORK = {
  async short(client, random) {
    const code = random(200)
    const { exitCode, output } = await client.run(['sh', '-c', `printf '%s' word; exit ${code}`])
    must(exitCode === code && String(output) === 'word', 'short command')
  },
  async flood(client, random) {
    const bytes = 1 + random(3_000_000)
    const { output } = await client.run(['head', '-c', String(bytes), '/dev/zero'])
    must(output.length === bytes, `flood of ${bytes}: ${output.length}`)
  },
  async terminal(client, random) {
    const lines = 1 + random(5_000)
    const { output } = await client.run(['sh', '-c', `stty raw -echo; seq ${lines}`], { tty: true })
    must(sha(output) === sha(Array.from({ length: lines }, (_, i) => `${i + 1}\n`).join('')), `terminal ${lines}`)
  },
  async typing(client, random) {
    const bytes = Buffer.alloc(1 + random(300_000), 'typed')
    const { output } = await client.run(['cat'], { pipeStdin: true }, async (processId) => {
      const chunk = bytes.toString('base64')
      await client.call('process/write', { processId, chunk, writeId: '1', closeStdin: true })
    })
    must(output.equals(bytes), 'typing')
  },
  async paging(client, random) {
    const bytes = 1 + random(4_000_000)
    await client.run(['head', '-c', String(bytes), '/dev/zero'], {}, async (processId) => {
      let seen = 0
      for (let afterSeq = 0; ;) {
        const page = await client.call('process/read', { processId, afterSeq, maxBytes: 262_144, waitMs: 2_000 })
        for (const { seq, chunk } of page.chunks) {
          seen += Buffer.from(chunk, 'base64').length
          afterSeq = seq
        }
        if (page.closed && page.chunks.length === 0) break
      }
      must(seen === bytes, `paging: ${seen} of ${bytes}`)
    })
  },
  async stopping(client, random) {
    const tty = random(2) === 1
    const argv = ['sh', '-c', 'trap "" TERM; sleep 100 & setsid sleep 101 & wait; sleep 102']
    const { exitCode } = await client.run(argv, { tty }, async (processId) => {
      await sleep(random(50))
      await client.call('process/terminate', { processId })
    })
    must(exitCode === (tty ? 1 : 137), `stopping: ${exitCode}`)
  },
  async files(client, random) {
    const path = `file://${join(folder, randomUUID())}`
    const bytes = Buffer.alloc(random(500_000), 'file')
    await client.call('fs/writeFile', { path, dataBase64: bytes.toString('base64') })
    const { dataBase64 } = await client.call('fs/readFile', { path })
    must(Buffer.from(dataBase64, 'base64').equals(bytes), 'files')
    await client.call('fs/remove', { path })
  },
  /** A proxy of its own, asked for a host that it refuses. */
  async proxied(client) {
    const proxy = {
      enabled: true,
      enableSocks5: true,
      enableSocks5Udp: false,
      allowUpstreamProxy: false,
      dangerouslyAllowAllUnixSockets: false,
      mode: 'full',
      allowLocalBinding: false,
      domains: { 'no.test': 'deny' },
    }
    const script =
      'exec 3<>"/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}"; printf "GET http://no.test/ HTTP/1.0\\r\\nHost: no.test\\r\\n\\r\\n" >&3; head -1 <&3'
    const { output } = await client.run(['bash', '-c', script], { networkProxy: { proxy } })
    must(String(output).startsWith('HTTP/1.1 403'), `proxied: ${output}`)
  },
  /** Login shells, most of them from a snapshot. */
  async login(client, random) {
    const shellSnapshot = { scopeId: `${client.sessionId} ${random(3)}`, shell: { name: 'bash', path: '/bin/bash' } }
    const env = { PATH: '/usr/bin:/bin', HOME: folder }
    const { output } = await client.run(['/bin/bash', '-lc', 'echo "$0"'], { shellSnapshot, env })
    must(String(output) === '/bin/bash\n', `login: ${output}`)
  },
  async nonsense(client) {
    client.socket.send('{nonsense')
    const missing = await client
      .call('process/start', {
        processId: randomUUID(),
        argv: ['/nonexistent/program'],
        cwd: 'file:///tmp',
        env: {},
        tty: false,
      })
      .then(
        () => false,
        () => true,
      )
    must(missing, 'a missing program was started')
  },
  /** Cut off in the middle of a command; everything is there afterwards. */
  async cut(client, random) {
    const processId = randomUUID()
    const lines = 20 + random(60)
    const script = `for i in $(seq ${lines}); do echo $i; sleep 0.01; done`
    await client.call('process/start', {
      processId,
      argv: ['sh', '-c', script],
      cwd: 'file:///tmp',
      env: { PATH: '/usr/bin:/bin' },
      tty: false,
    })
    await sleep(random(200))
    client.drop()
    await sleep(random(300))
    await client.connect(client.sessionId)
    let text = ''
    for (let afterSeq = 0; ;) {
      const page = await client.call('process/read', { processId, afterSeq, maxBytes: 1_000_000, waitMs: 5_000 })
      for (const { seq, chunk } of page.chunks) {
        text += Buffer.from(chunk, 'base64').toString()
        afterSeq = seq
      }
      if (page.closed && page.chunks.length === 0) break
    }
    must(text === Array.from({ length: lines }, (_, i) => `${i + 1}\n`).join(''), 'cut')
  },
}

const endsAtMs = performance.now() + durationMs
async function clientLife(index) {
  const random = randomFrom(Number(values.seed) + index * 7919)
  const names = Object.keys(WORK)
  const client = new Client()
  await client.connect()
  while (performance.now() < endsAtMs && faults.length === 0) {
    const name = names[random(names.length)]
    try {
      await WORK[name](client, random)
      counts.set(name, (counts.get(name) ?? 0) + 1)
    } catch (error) {
      faults.push(`client ${index}, ${name}: ${error.message}`)
    }
    await sleep(random(100))
  }
  client.drop()
}

const samples = []
async function watch() {
  const startedAtMs = performance.now()
  while (performance.now() < endsAtMs && faults.length === 0) {
    await sleep(10_000)
    const rssMiB = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
    const descriptors = readdirSync(`/proc/${server.pid}/fd`).length
    samples.push({ atMs: performance.now() - startedAtMs, rssMiB, descriptors })
    if (samples.length % 6 === 0)
      console.log(`${(samples.length / 6).toFixed(0)} min: ${rssMiB.toFixed(1)} MiB, ${descriptors} descriptors`)
  }
}

await Promise.all([watch(), ...Array.from({ length: Number(values.clients) }, (_, i) => clientLife(i))])
server.kill('SIGTERM')
await new Promise((resolve) => server.once('exit', resolve))
rmSync(folder, { recursive: true, force: true })

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0
const warm = samples.filter(({ atMs }) => atMs > warmUpMs)
const third = Math.max(1, Math.floor(warm.length / 3))
const early = median(warm.slice(0, third).map(({ rssMiB }) => rssMiB))
const late = median(warm.slice(-third).map(({ rssMiB }) => rssMiB))
console.log([...counts].map(([name, count]) => `${name} ${count}`).join(', '))
console.log(`RSS after the warm-up: ${early.toFixed(1)} MiB, at the end: ${late.toFixed(1)} MiB`)
if (warm.length >= 6 && late > early * 1.1)
  faults.push(`memory grew from ${early.toFixed(1)} to ${late.toFixed(1)} MiB`)
for (const fault of faults) console.error(`WRONG ${fault}`)
console.log(faults.length === 0 ? 'soak: all right' : `soak: ${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
