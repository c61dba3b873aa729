import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createSocketServer, type AddressInfo } from 'node:net'
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  execServersUnderTest,
  scratchHome,
  startExecServer,
  type ExecServerProgram,
  type RunningExecServer,
} from '../../testing/exec-server-process.ts'
import { startTcpRelay, type TcpRelay } from '../../testing/tcp-relay.ts'
import {
  commandConnector,
  ExecClient,
  ExecSessionLost,
  isNotFound,
  spawnErrorKindOf,
  unixSocketConnector,
  websocketConnector,
  type ExecClientOptions,
  type ExecProcess,
  type ProcessOutput,
} from './index.ts'

const PATH = { PATH: process.env.PATH ?? '/usr/bin:/bin' }
/** Exec servers of more than one machine's worth of work at once: generous. */
const WAIT = { timeout: 20_000, interval: 20 }

async function collect(process: ExecProcess): Promise<ProcessOutput[]> {
  const outputs: ProcessOutput[] = []
  for await (const output of process.output) outputs.push(output)
  return outputs
}
function bytesOf(outputs: ProcessOutput[], stream?: string): Buffer {
  return Buffer.concat(
    outputs.flatMap((o) => (o.kind === 'output' && (stream === undefined || o.stream === stream) ? [o.bytes] : [])),
  )
}
const textOf = (outputs: ProcessOutput[], stream?: string) => bytesOf(outputs, stream).toString()

describe.each(execServersUnderTest())('the client with the exec server of $name', (program: ExecServerProgram) => {
  const home = scratchHome()
  const work = mkdtempSync(join(tmpdir(), 'gatehouse-client-'))
  const clients: ExecClient[] = []
  let server: RunningExecServer
  let relay: TcpRelay

  beforeAll(async () => {
    server = await startExecServer(program, { ...home.env, SUITE_TOKEN: 'from-the-server' })
    relay = await startTcpRelay(server.url)
  })
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close()
  })
  afterAll(async () => {
    await relay.close()
    server.stop()
    home.remove()
    rmSync(work, { recursive: true, force: true })
  })

  const clientOf = (options: Partial<ExecClientOptions> = {}): ExecClient => {
    const client = new ExecClient({ connect: websocketConnector({ url: relay.url }), ...options })
    clients.push(client)
    return client
  }
  const sh = (client: ExecClient, script: string, more: { tty?: boolean; pipeStdin?: boolean } = {}) =>
    client.start({ argv: ['/bin/sh', '-c', script], cwd: work, env: PATH, ...more })

  describe('processes', () => {
    it('give output by stream, the exit code, and an end', async () => {
      const process = await sh(clientOf(), 'printf out; printf err >&2; exit 3')
      const outputs = await collect(process)
      expect(textOf(outputs, 'stdout')).toBe('out')
      expect(textOf(outputs, 'stderr')).toBe('err')
      expect(await process.exited).toEqual({ exitCode: 3, sandboxDenied: false })
      await process.closed
    })

    it('E01 E03 bytes arrive as they were written', async () => {
      const script = `printf 'a\\000b\\377\\376c\\n'; printf '\\342\\202\\254' >&2`
      const outputs = await collect(await sh(clientOf(), script))
      expect(bytesOf(outputs, 'stdout')).toEqual(Buffer.from([0x61, 0, 0x62, 0xff, 0xfe, 0x63, 0x0a]))
      expect(textOf(outputs, 'stderr')).toBe('€')
    })

    it('get exactly the environment and folder they are given', async () => {
      const process = await clientOf().start({
        argv: ['/usr/bin/env'],
        cwd: `file://${work}`,
        env: { ...PATH, ONLY: 'this' },
      })
      expect(
        textOf(await collect(process))
          .split('\n')
          .filter(Boolean)
          .sort(),
      ).toEqual([`ONLY=this`, `PATH=${PATH.PATH}`].sort())
    })

    it('on a terminal read what is typed, and are interrupted by its key', async () => {
      const process = await sh(clientOf(), 'read line; echo "got:$line"; sleep 30', { tty: true })
      let seen = ''
      const reading = (async () => {
        for await (const output of process.output) if (output.kind === 'output') seen += Buffer.from(output.bytes)
      })()
      expect(await process.write(Buffer.from('hello\n'))).toBe('accepted')
      await vi.waitUntil(() => seen.includes('got:hello'), WAIT)
      await process.write(Buffer.from([3]))
      await reading
      expect(await process.exited).toMatchObject({ exitCode: expect.any(Number) })
    })

    it.runIf(program.isOurs)('on a terminal take a new size, which nothing else minds', async () => {
      const process = await sh(clientOf(), 'read x; stty size', { tty: true })
      await process.resize(100, 30)
      await process.write(Buffer.from('\n'))
      expect(textOf(await collect(process))).toContain('30 100')
      await process.resize(80, 24)
      await (await sh(clientOf(), 'true')).resize(80, 24)
      await expect(process.resize(0, 24)).rejects.toThrow('columns')
    })

    it('E31 on pipes are interrupted by a signal', async () => {
      const process = await sh(clientOf(), 'exec sleep 30')
      await process.interrupt()
      expect(await process.exited).toMatchObject({ exitCode: 130 })
    })

    it('are ended at once, and ending them again is no error', async () => {
      const process = await sh(clientOf(), 'trap "" TERM; sleep 30')
      expect(await process.terminate()).toEqual({ running: true })
      expect(await process.exited).toMatchObject({ exitCode: 137 })
      await process.closed
      expect(await process.terminate()).toEqual({ running: false })
      await process.interrupt()
    })

    it('E30 take megabytes of input in order', async () => {
      const input = Buffer.from(Uint8Array.from({ length: 10 * 1024 * 1024 }, (_, i) => i % 251))
      const process = await sh(clientOf(), `head -c ${input.length} | sha256sum`, { pipeStdin: true })
      const half = input.length / 2
      const writes = [process.write(input.subarray(0, half)), process.write(input.subarray(half))]
      expect(await Promise.all(writes)).toEqual(['accepted', 'accepted'])
      expect(textOf(await collect(process))).toContain(createHash('sha256').update(input).digest('hex'))
    })

    it('E31 without a stdin say so instead of failing', async () => {
      const process = await sh(clientOf(), 'exit 0')
      await process.closed
      expect(await process.write(Buffer.from('x'))).toBe('stdinClosed')
    })

    it('that cannot start say why', async () => {
      const client = clientOf()
      const error = await client.start({ argv: ['/nonexistent/program'], cwd: work }).catch((e: unknown) => e)
      expect(spawnErrorKindOf(error)).toBe('spawnNotFound')
      const plain = join(work, 'not-executable')
      writeFileSync(plain, 'text')
      const refused = await client.start({ argv: [plain], cwd: work }).catch((e: unknown) => e)
      expect(spawnErrorKindOf(refused)).toBe('spawnPermissionDenied')
    })

    it('E08 can flood: every byte arrives, or a gap says which did not', async () => {
      const megabytes = 24
      const process = await sh(clientOf(), `head -c ${megabytes}000000 /dev/zero | tr '\\0' x; echo; echo END`)
      const outputs = await collect(process)
      const gaps = outputs.filter((o) => o.kind === 'gap')
      expect(textOf(outputs.slice(-1))).toMatch(/END\n$/)
      if (gaps.length === 0) expect(bytesOf(outputs).length).toBe(megabytes * 1_000_000 + 5)
      if (program.isOurs) expect(gaps).toEqual([])
      // The exit has a number in the same sequence, and may come before the last output.
      const skipped: number[] = []
      let next = 1
      for (const output of outputs) {
        const first = output.kind === 'gap' ? output.fromSeq : output.seq
        for (; next < first; next++) skipped.push(next)
        expect(first).toBe(next)
        next = output.kind === 'gap' ? output.toSeq + 1 : output.seq + 1
      }
      expect(skipped.length).toBeLessThanOrEqual(1)
    })

    it('many at once keep their outputs apart', async () => {
      const client = clientOf()
      const texts = await Promise.all(
        Array.from({ length: 24 }, async (_, i) => textOf(await collect(await sh(client, `echo ${i}; echo ${i}`)))),
      )
      expect(texts).toEqual(Array.from({ length: 24 }, (_, i) => `${i}\n${i}\n`))
    })

    it('can be read by cursor, also with a wait', async () => {
      const process = await sh(clientOf(), 'echo one; sleep 0.3; echo two; sleep 30')
      await vi.waitUntil(async () => (await process.read(0)).chunks.length === 1, WAIT)
      const later = await process.read(1, { waitMs: 10_000 })
      expect(later.chunks.map((c) => Buffer.from(c.bytes).toString())).toEqual(['two\n'])
      expect(later).toMatchObject({ nextSeq: 3, exited: false, closed: false, failure: null })
      await process.terminate()
    })

    it('E15 exit before their output ends', async () => {
      const process = await sh(clientOf(), '(sleep 1; echo late) & echo parent')
      expect(await process.exited).toMatchObject({ exitCode: 0 })
      expect(textOf(await collect(process))).toBe('parent\nlate\n')
    })
  })

  describe('a cut connection', () => {
    it('E113 loses nothing, doubles nothing and starts nothing twice', async () => {
      const client = clientOf()
      const marks = join(work, 'started')
      const process = await sh(client, `echo x >> ${marks}; for i in $(seq 1 50); do echo $i; sleep 0.04; done`)
      const reading = collect(process)
      for (const after of ['10\n', '30\n']) {
        await vi.waitUntil(async () => (await process.read(0)).chunks.some((c) => textEnds(c.bytes, after)), WAIT)
        relay.cut()
      }
      expect(textOf(await reading)).toBe(Array.from({ length: 50 }, (_, i) => `${i + 1}\n`).join(''))
      expect(await process.exited).toMatchObject({ exitCode: 0 })
      expect(Buffer.from(await client.files.read(marks)).toString()).toBe('x\n')
    })

    it('E113 while typing writes each byte once', async () => {
      const process = await sh(clientOf(), 'head -c 60 | tr -d "\\n"', { pipeStdin: true })
      const writes: Promise<unknown>[] = []
      for (let i = 0; i < 30; i++) {
        writes.push(process.write(Buffer.from(String(i % 10).padStart(2, '0'))))
        if (i % 10 === 5) relay.cut()
      }
      expect(new Set(await Promise.all(writes))).toEqual(new Set(['accepted']))
      const expected = Array.from({ length: 30 }, (_, i) => String(i % 10).padStart(2, '0')).join('')
      expect(textOf(await collect(process))).toBe(expected)
    })

    it('E113 that stays cut is one named error for everybody', async () => {
      const client = clientOf({ recoveryMs: 300 })
      const process = await sh(client, 'sleep 30')
      const waiting = Promise.allSettled([collect(process), process.exited, process.closed])
      relay.refuse(true)
      relay.cut()
      const errors = (await waiting).map((r) => (r.status === 'rejected' ? (r.reason as unknown) : null))
      relay.refuse(false)
      expect(errors[0]).toBeInstanceOf(ExecSessionLost)
      expect(new Set(errors).size).toBe(1)
      expect(await client.readStatus()).toBe('ready')
    })

    it('takes open files with it, and says so', async () => {
      const client = clientOf()
      const path = join(work, 'handle')
      writeFileSync(path, 'content')
      const file = await client.files.open(path, 'read')
      expect(Buffer.from((await file.read(0, 100)).bytes).toString()).toBe('content')
      relay.cut()
      await vi.waitUntil(async () => (await client.readStatus().catch(() => null)) === 'ready', WAIT)
      await expect(file.read(0, 1)).rejects.toMatchObject({ code: 'disconnected' })
    })

    it('E114 that is merely silent is noticed, and work goes on where it stood', async () => {
      const frozen = await startExecServer(program, home.env)
      const states: string[] = []
      const client = clientOf({
        connect: websocketConnector({ url: frozen.url, pingIntervalMs: 150 }),
        connectTimeoutMs: 400,
        onStateChange: (state) => states.push(state),
      })
      try {
        const process = await sh(client, 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done')
        const reading = collect(process)
        await vi.waitUntil(async () => (await process.read(0)).chunks.length > 0, WAIT)
        frozen.signal('SIGSTOP')
        await vi.waitUntil(() => states.includes('recovering'), WAIT)
        const meanwhile = client.readStatus()
        frozen.signal('SIGCONT')
        expect(await meanwhile).toBe('ready')
        expect(textOf(await reading)).toBe('1\n2\n3\n4\n5\n6\n')
      } finally {
        frozen.signal('SIGCONT')
        frozen.stop()
      }
    })
  })

  describe('files', () => {
    it('are written, read, copied, listed and removed', async () => {
      const { files } = clientOf()
      const folder = join(work, 'round trip')
      const file = join(folder, 'a b é.txt')
      await files.createDirectory(folder)
      await files.write(file, Buffer.from('hello'))
      expect(Buffer.from(await files.read(file)).toString()).toBe('hello')
      expect(await files.metadata(file)).toMatchObject({ isFile: true, isDirectory: false, size: 5 })
      symlinkSync(file, join(folder, 'link'))
      expect(await files.metadata(join(folder, 'link'))).toMatchObject({ isSymlink: true, isFile: true })
      expect(await files.canonicalize(join(folder, 'link'))).toMatch(/a%20b%20%C3%A9\.txt$/)
      await files.copy(folder, `${folder} 2`, { recursive: true })
      expect((await files.list(`${folder} 2`)).map((e) => e.fileName).sort()).toEqual(['a b é.txt', 'link'])
      await files.remove(folder)
      expect(isNotFound(await files.metadata(folder).catch((e: unknown) => e))).toBe(true)
      await files.remove(folder)
      await expect(files.remove(folder, { force: false })).rejects.toSatisfy(isNotFound)
    })

    it('larger than one message go block by block', async () => {
      const { files } = clientOf()
      const content = Buffer.from(Uint8Array.from({ length: 20_000_001 }, (_, i) => (i * 7) % 253))
      const path = join(work, 'large')
      await files.write(path, content)
      expect(Buffer.compare(Buffer.from(await files.read(path)), content)).toBe(0)
      await files.write(path, Buffer.from('short'))
      expect(Buffer.from(await files.read(path)).toString()).toBe('short')
    })

    it('are walked breadth first, by name', async () => {
      const root = join(work, 'walk')
      mkdirSync(join(root, 'b', 'c'), { recursive: true })
      for (const name of ['z', 'a', 'b/y', 'b/c/x']) writeFileSync(join(root, name), '')
      const options = { maxDepth: 5, maxDirectories: 50, maxEntries: 50, followDirectorySymlinks: false }
      const { entries, truncated } = await clientOf().files.walk(root, { ...options, pruneHiddenDirectories: false })
      expect(entries.map((e) => e.path.split('/walk/')[1])).toEqual(['a', 'b', 'z', 'b/c', 'b/y', 'b/c/x'])
      expect(truncated).toBe(false)
    })

    it('that do not exist yet are watched for', async () => {
      const root = join(work, 'watched')
      mkdirSync(root)
      let changes = 0
      const { files } = clientOf()
      const missing = [join(root, 'deep', 'file')]
      expect(await files.watchMissing(missing, root, () => changes++)).toBe(true)
      mkdirSync(join(root, 'deep'))
      await vi.waitUntil(() => changes === 1, WAIT)
      writeFileSync(join(root, 'deep', 'file'), '')
      expect(await files.watchMissing(missing, null, () => changes++)).toBe(false)
    })
  })

  describe('http', () => {
    let web: Server
    let base: string
    beforeAll(async () => {
      web = createServer((request, response) => {
        if (request.url === '/stream') {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          let count = 0
          const timer = setInterval(() => {
            response.write(`data: ${count}\n\n`)
            if (++count === 3) response.end()
          }, 20)
          response.on('close', () => clearInterval(timer))
        } else if (request.url === '/broken') {
          response.writeHead(200, { 'content-length': '100' })
          response.write('part', () => request.socket.destroy())
        } else if (request.url === '/endless') {
          response.writeHead(200)
          response.write('first')
        } else if (request.url === '/moved') response.writeHead(302, { location: '/echo' }).end()
        else {
          const parts: Buffer[] = []
          request.on('data', (part: Buffer) => parts.push(part))
          request.on('end', () =>
            response.end(
              JSON.stringify({
                method: request.method,
                token: request.headers.authorization,
                body: `${Buffer.concat(parts)}`,
              }),
            ),
          )
        }
      })
      await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
      base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
    })
    afterAll(() => {
      web.closeAllConnections()
      web.close()
    })

    it('requests are made on the server, with its secrets', async () => {
      const headers = [{ name: 'authorization', value: 'Bearer ', valueEnvVar: 'SUITE_TOKEN' }]
      const answer = await clientOf().http.request({
        method: 'POST',
        url: `${base}/echo`,
        headers,
        body: Buffer.from('hi'),
      })
      expect(answer.status).toBe(200)
      expect(JSON.parse(Buffer.from(answer.body).toString())).toEqual({
        method: 'POST',
        token: 'Bearer from-the-server',
        body: 'hi',
      })
    })

    it('redirects are followed or not, as asked', async () => {
      const { http } = clientOf()
      expect((await http.request({ url: `${base}/moved` })).status).toBe(200)
      expect((await http.request({ url: `${base}/moved`, redirects: 'stop' })).status).toBe(302)
    })

    it('bodies are streamed in order to their end', async () => {
      const answer = await clientOf().http.stream({ url: `${base}/stream` })
      const parts: Uint8Array[] = []
      for await (const part of answer.body) parts.push(part)
      expect(Buffer.concat(parts).toString()).toBe('data: 0\n\ndata: 1\n\ndata: 2\n\n')
    })

    it('a body that breaks off is an error after what had come', async () => {
      const answer = await clientOf().http.stream({ url: `${base}/broken` })
      const parts: Uint8Array[] = []
      await expect(
        (async () => {
          for await (const part of answer.body) parts.push(part)
        })(),
      ).rejects.toThrow('error decoding response body')
      expect(Buffer.concat(parts).toString()).toBe('part')
    })

    it('a lost connection ends a streamed body with a named error', async () => {
      const answer = await clientOf().http.stream({ url: `${base}/endless` })
      const reader = answer.body[Symbol.asyncIterator]()
      expect(Buffer.from((await reader.next()).value as Uint8Array).toString()).toBe('first')
      relay.cut()
      await expect(reader.next()).rejects.toMatchObject({ code: 'disconnected' })
    })

    it('failures name the place, not the password', async () => {
      const failing = clientOf().http.request({ url: 'http://user:secret@127.0.0.1:9/x' })
      await expect(failing).rejects.toThrow(/error sending request for url \(http:\/\/127\.0\.0\.1:9\/x\)/)
    })
  })

  describe('the environment', () => {
    it('is told with the handshake and on request', async () => {
      const client = clientOf()
      const told = await client.environment()
      expect(told).toMatchObject({ shell: { path: expect.stringMatching(/^\//) }, platformOs: process.platform })
      expect(await client.readEnvironment()).toEqual(told)
      expect(await client.can('fsWatchMissing')).toBe(true)
    })

    it('has configuration layers', async () => {
      writeFileSync(join(home.path, 'config.toml'), '[mcp_servers.one]\ncommand = "x"\n')
      const query = { cwd: work, configPaths: [['mcp_servers']], requirementsPaths: [['mcp_servers']] }
      const { config } = await clientOf().readEnvironmentConfig(query)
      expect(config.layers.find((layer) => layer.source.startsWith('user'))?.toml).toContain('command = "x"')
    })
  })

  describe('other ways there', () => {
    it('a command on stdio, behind a shell that greets first', async () => {
      const command = [program.program, ...program.args, '--listen', 'stdio'].map((arg) => `'${arg}'`).join(' ')
      const oddities: string[] = []
      const client = clientOf({
        connect: commandConnector({
          program: '/bin/sh',
          args: ['-c', `echo 'Welcome to the other machine'; exec ${command}`],
          env: home.env,
        }),
        onOddity: (message) => oddities.push(message),
      })
      const process = await sh(client, 'echo over stdio; exit 4')
      expect(textOf(await collect(process))).toBe('over stdio\n')
      expect(await process.exited).toMatchObject({ exitCode: 4 })
      expect(oddities).toHaveLength(1)
    })

    it('a command that ends says with which words', async () => {
      const connect = commandConnector({ program: '/bin/sh', args: ['-c', 'echo "no such host" >&2; exit 7'] })
      await expect(clientOf({ connect }).connect()).rejects.toThrow('ended with exit code 7: no such host')
      const missing = commandConnector({ program: '/nonexistent/ssh' })
      await expect(clientOf({ connect: missing }).connect()).rejects.toThrow('cannot start /nonexistent/ssh')
    })

    it('a unix socket', async () => {
      const path = join(work, 'exec.sock')
      const listener = createSocketServer((socket) => {
        const child = spawn(program.program, [...program.args, '--listen', 'stdio'], {
          env: home.env,
          stdio: ['pipe', 'pipe', 'ignore'],
        })
        socket.pipe(child.stdin)
        child.stdout.pipe(socket)
        socket.on('close', () => child.stdin.end())
        socket.on('error', () => {})
      })
      await new Promise<void>((resolve) => listener.listen(path, resolve))
      const client = clientOf({ connect: unixSocketConnector({ path }) })
      expect(textOf(await collect(await sh(client, 'echo over a socket')))).toBe('over a socket\n')
      await client.close()
      listener.close()
    })

    it('nobody there is said as such', async () => {
      const nowhere = clientOf({ connect: websocketConnector({ url: 'ws://127.0.0.1:9' }) })
      await expect(nowhere.connect()).rejects.toThrow(/no connection to the exec server at ws:\/\/127\.0\.0\.1:9/)
      const noSocket = clientOf({ connect: unixSocketConnector({ path: join(work, 'none.sock') }) })
      await expect(noSocket.connect()).rejects.toThrow(/ENOENT/)
    })
  })
})

function textEnds(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes).toString().endsWith(text)
}
