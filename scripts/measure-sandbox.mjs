// Measures what our walls cost: `/bin/true` in a sandbox, started over the wire, beside bwrap itself with the
// same arguments, in turns. Prints a row for docs/performance.md. Needs bwrap and `npm run build`.
// `node scripts/measure-sandbox.mjs [pairs]`
import { spawn } from 'node:child_process'
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { WebSocket } from 'ws'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const pairs = Number(process.argv[2] ?? 200)
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-measure-'))
const workspace = join(folder, 'ws')
const captured = { options: join(folder, 'options'), filter: join(folder, 'filter') }
const BWRAP = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'].find((path) => existsSync(path))
if (!BWRAP) throw new Error('bwrap was not found; install it with: sudo apt-get install bubblewrap')

/** A server that finds a bwrap of ours first, which keeps what it is given and runs the real one. */
function writeCapturingBwrap() {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const file = join(bin, 'bwrap')
  writeFileSync(
    file,
    `#!/bin/sh
case $1 in --args) ;; *) exec ${BWRAP} "$@" ;; esac
cat <&3 >'${captured.options}.new'
cat <&4 >'${captured.filter}'
mv '${captured.options}.new' '${captured.options}'
exec ${BWRAP} "$@" 3<'${captured.options}' 4<'${captured.filter}'
`,
  )
  chmodSync(file, 0o755)
  return bin
}

async function startServer(path) {
  const server = spawn(
    process.execPath,
    [
      ...(process.env.NODE_FLAGS ?? '').split(' ').filter(Boolean),
      join(root, 'out/sidecars/exec-server.cjs'),
      '--listen',
      'ws://127.0.0.1:0',
    ],
    {
      env: { ...process.env, PATH: path, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const url = await new Promise((resolve) => server.stdout.once('data', (bytes) => resolve(String(bytes).trim())))
  const socket = new WebSocket(url, { perMessageDeflate: false })
  await new Promise((resolve) => socket.once('open', resolve))
  const waiting = new Map()
  const ends = new Map()
  socket.on('message', (data) => {
    const message = JSON.parse(String(data))
    if (message.id !== undefined) waiting.get(message.id)?.(message)
    if (message.method === 'process/exited') ends.get(message.params.processId)?.(message.params.exitCode)
  })
  let ids = 0
  const call = (method, params) =>
    new Promise((resolve) => {
      waiting.set(++ids, resolve)
      socket.send(JSON.stringify({ id: ids, method, params }))
    })
  await call('initialize', { clientName: 'measure-sandbox' })
  socket.send(JSON.stringify({ method: 'initialized' }))
  return {
    async run(sandbox) {
      const processId = `p${++ids}`
      const ended = new Promise((resolve) => ends.set(processId, resolve))
      const began = performance.now()
      const start = {
        processId,
        argv: ['/bin/true'],
        cwd: pathToFileURL(workspace).href,
        env: { PATH: '/usr/bin:/bin' },
      }
      const answer = await call('process/start', { ...start, tty: false, arg0: null, sandbox })
      if (answer.error) throw new Error(answer.error.message)
      const code = await ended
      if (code !== 0) throw new Error(`it ended with ${code}`)
      return performance.now() - began
    },
    async stop() {
      socket.terminate()
      server.kill('SIGTERM')
      await new Promise((resolve) => server.once('exit', resolve))
    },
  }
}

/** As the Codex CLI asks for `workspace-write`. */
function workspaceWrite() {
  const place = (value) => ({ type: 'special', value })
  const entries = [
    { path: place({ kind: 'root' }), access: 'read' },
    { path: place({ kind: 'project_roots' }), access: 'write' },
    ...['.git', '.agents', '.codex'].map((subpath) => ({
      path: place({ kind: 'project_roots', subpath }),
      access: 'read',
      missing_path_behavior: 'skip',
    })),
  ]
  const uri = pathToFileURL(workspace).href
  return {
    permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
    cwd: uri,
    workspaceRoots: [uri],
    temporaryDirectories: [],
    windowsSandboxLevel: 'disabled',
  }
}

function plainBwrap() {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const inherited = [openSync(captured.options, 'r'), openSync(captured.filter, 'r')]
    const child = spawn(BWRAP, ['--args', '3', '--seccomp', '4', '--', '/bin/true'], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', ...inherited],
    })
    inherited.forEach((fd) => closeSync(fd))
    child.once('error', reject)
    child.once('exit', (code) =>
      code === 0 ? resolve(performance.now() - began) : reject(new Error(`plain bwrap ended with ${code}`)),
    )
  })
}

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
const PATH = process.env.PATH ?? '/usr/bin:/bin'

mkdirSync(workspace)
for (const name of ['.git', '.agents', '.codex', '.gatehouse', '.aws']) mkdirSync(join(workspace, name))
for (const name of ['hooks', 'config']) mkdirSync(join(workspace, '.git', name))
const capturing = await startServer(`${writeCapturingBwrap()}:${PATH}`)
const server = await startServer(PATH)
try {
  const sandbox = workspaceWrite()
  await capturing.run(sandbox)
  for (let i = 0; i < 20; i++) {
    await server.run(sandbox)
    await server.run(null)
    await plainBwrap()
  }
  const wire = []
  const plain = []
  const open = []
  for (let i = 0; i < pairs; i++) {
    // By turns the first, so that neither always follows the other.
    if (i % 2) wire.push(await server.run(sandbox))
    plain.push(await plainBwrap())
    if (i % 2 === 0) wire.push(await server.run(sandbox))
    open.push(await server.run(null))
  }
  const ratio = middle(wire.map((ms, i) => ms / plain[i]))
  const line = [wire, plain, open].map((numbers) => `${middle(numbers).toFixed(2)} ms`).join(' | ')
  console.log(
    `over the wire | plain bwrap | over the wire, no sandbox | median ratio of a pair\n${line} | ${ratio.toFixed(2)}`,
  )
} finally {
  await Promise.all([server.stop(), capturing.stop()])
  rmSync(folder, { recursive: true, force: true })
}
