import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

let server: ExecServerAlone
let client: ExecWireClient
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-processes-'))
  server = await startExecServerAlone({ env: { NODE_OPTIONS: '--no-warnings', MY_FLAG: '1', DEMO_TOKEN: 'k2' } })
  client = await ExecWireClient.open(server.url)
})
afterAll(async () => {
  client.drop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})
const sh = (script: string, options = {}) => client.run(['sh', '-c', script], options)
const contiguous = (seqs: number[]) => seqs.every((seq, i) => seq === i + 1)

describe('starting', () => {
  it('gives stdout, stderr, exit and close one sequence, closed last', async () => {
    const process = await sh('printf out; printf err >&2; exit 3').closed()
    expect([process.text('stdout'), process.text('stderr'), process.exitCode]).toEqual(['out', 'err', 3])
    expect(process.events.slice(-2)).toEqual(['exited', 'closed'])
    expect(contiguous(process.seqs)).toBe(true)
    expect((await process.started).result).toEqual({ processId: process.id, sandboxType: 'none' })
  })

  it('passes arguments, arg0, environment and directory exactly', async () => {
    const args = await client.run(['printf', '%s|', 'a b', '', '$HOME', "it's", 'é']).closed()
    expect(args.text()).toBe("a b||$HOME|it's|é|")
    const named = await client.run(['/bin/sh', '-c', 'ps -o args= -p $$; pwd'], {
      arg0: '-login',
      cwd: 'file:///usr/../tmp',
    })
    expect((await named.closed()).text()).toBe('-login -c ps -o args= -p $$; pwd\n/tmp\n')
    const exact = await client.run(['/usr/bin/env'], { env: { B: '2', A: 'x=1' } }).closed()
    expect(exact.text().split('\n').sort()).toEqual(['', 'A=x=1', 'B=2'])
    const nothing = await client.run(['/usr/bin/env'], { env: {} }).closed()
    expect(nothing.text()).toBe('')
  })

  it('gives a child pipes that can be opened by name, as programs expect', async () => {
    const outputs = await sh('echo to-out > /dev/stdout; echo to-err | tee /dev/stderr > /dev/null').closed()
    expect([outputs.text('stdout'), outputs.text('stderr')]).toEqual(['to-out\n', 'to-err\n'])
    const input = await client.run(['cat', '/dev/stdin'], { pipeStdin: true }).running()
    await input.write('by name', { closeStdin: true })
    expect((await input.closed()).text()).toBe('by name')
  })

  it('refuses an id in use and frees it after a failed start', async () => {
    const process = await client.run(['sleep', '60'], { id: 'taken' }).running()
    expect(await client.run(['true'], { id: 'taken' }).started).toMatchObject({
      error: { code: -32600, message: 'process taken already exists' },
    })
    client.watch('taken')
    await process.terminate()
    expect(await client.run(['/nonexistent/x'], { id: 'again' }).started).toMatchObject({ error: { code: -32603 } })
    expect((await client.run(['true'], { id: 'again' }).closed()).exitCode).toBe(0)
  })

  it('keeps the id of an ended process taken while its output can be read', async () => {
    const process = await client.run(['echo', 'x'], { id: 'kept' }).closed()
    expect(process.exitCode).toBe(0)
    expect(await client.run(['true'], { id: 'kept' }).started).toHaveProperty('error')
  })

  it('two sessions may use the same id', async () => {
    const other = await ExecWireClient.open(server.url)
    const [a, b] = [client.run(['echo', 'a'], { id: 'same' }), other.run(['echo', 'b'], { id: 'same' })]
    expect([(await a.closed()).text(), (await b.closed()).text()]).toEqual(['a\n', 'b\n'])
    other.drop()
  })

  it.each([
    [
      'a missing program',
      { argv: ['/nonexistent/x'] },
      -32603,
      'spawnNotFound',
      'No such file or directory (os error 2)',
    ],
    ['a name that is not on PATH', { argv: ['no-such-program'] }, -32603, 'spawnNotFound', 'os error 2'],
    ['a file that is not executable', { argv: ['/etc/passwd'] }, -32603, 'spawnPermissionDenied', 'os error 13'],
    ['an empty program name', { argv: [''] }, -32603, 'spawnFailed', ''],
    ['no arguments', { argv: [] }, -32602, undefined, 'argv must not be empty'],
    ['a native path', { cwd: '/tmp' }, -32602, undefined, 'invalid URI: relative URL without a base'],
    [
      'a path of another machine',
      { cwd: 'file://other/x' },
      -32602,
      undefined,
      'is not valid on this exec-server host',
    ],
  ])(
    'says what is wrong with %s',
    async (_, { argv = ['true'], ...options }: { argv?: string[]; cwd?: string }, code, kind, words) => {
      const { error } = await client.run(argv, options).started
      expect(error?.code).toBe(code)
      expect(error?.data?.kind).toBe(kind)
      expect(error?.message).toContain(words)
    },
  )

  it('refuses what asks for walls that cannot be built', async () => {
    const restricted = {
      permissions: { type: 'managed', file_system: { type: 'restricted', entries: [] }, network: 'restricted' },
      windowsSandboxLevel: 'disabled',
    }
    for (const options of [{ enforceManagedNetwork: true }, { networkProxy: { proxy: {} } }])
      expect(await client.run(['touch', join(folder, 'RAN')], options).started).toMatchObject({
        error: { code: -32603, data: { kind: 'sandboxUnavailable' } },
      })
    expect(existsSync(join(folder, 'RAN'))).toBe(false)
    const free = { ...restricted, permissions: { type: 'disabled' } }
    expect((await client.run(['true'], { sandbox: free }).closed()).exitCode).toBe(0)
  })

  it('E05 refuses NUL by naming the field, and delivers it on stdin', async () => {
    expect((await client.run(['echo', 'a\0b']).started).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('argv[1]'),
    })
    expect((await client.run(['true'], { env: { X: 'a\0b' } }).started).error?.message).toContain('env.X')
    expect((await client.run(['true'], { env: { 'A=B': '1' } }).started).error?.message).toContain('A=B')
    const process = await client.run(['od', '-An', '-c'], { pipeStdin: true }).running()
    await process.write('a\0b', { closeStdin: true })
    expect((await process.closed()).text().replaceAll(' ', '')).toBe('a\\0b\n')
  })

  it('E59 names the argument or variable that is too long and its size, and works on', async () => {
    const long = await client.run(['bash', '-c', `: ${'x'.repeat(140_000)}`]).started
    expect(long.error).toMatchObject({
      code: -32603,
      data: { kind: 'spawnFailed', part: 'argv[2]', sizeBytes: 140_002 },
    })
    expect(long.error?.message).toContain('Argument list too long (os error 7)')
    const big = await client.run(['true'], { env: { PATH: '/bin', BIG: 'x'.repeat(200_000) } }).started
    expect(big.error).toMatchObject({ data: { part: 'env.BIG', sizeBytes: 200_004 } })
    const many = await client.run(['true', ...Array.from({ length: 100 }, () => 'y'.repeat(100_000))]).started
    expect(many.error?.message).toMatch(/os error 7.*argv\[\d+\]/)
    expect((await client.run(['true']).closed()).exitCode).toBe(0)
    const script = await client.run(['bash'], { pipeStdin: true }).running()
    await script.write(`: ${'x'.repeat(140_000)}\necho done`, { closeStdin: true })
    expect((await script.closed()).text()).toBe('done\n')
  })

  it('E52 names a missing working directory, not the program, and can tell the two apart', async () => {
    const gone = join(folder, 'gone')
    mkdirSync(gone)
    rmdirSync(gone)
    const { error } = await client.run(['pwd'], { cwd: `file://${gone}` }).started
    expect(error?.message).toContain(gone)
    expect(error?.data).toMatchObject({ kind: 'spawnNotFound', part: 'cwd', path: gone })
    expect((await client.run(['/nonexistent/x']).started).error?.data).toMatchObject({ part: 'program' })
    expect((await client.run(['true'], { cwd: `file://${folder}` }).closed()).exitCode).toBe(0)
  })
})

describe('the environment', () => {
  const policy = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] }

  it.each([
    ['a pipe', false],
    ['a terminal', true],
  ])('E56 E58 shows a child on %s neither our own variables nor excluded ones', async (_, tty) => {
    const process = await client.run(['/usr/bin/env'], {
      env: {},
      tty,
      envPolicy: { ...policy, exclude: ['*KEY*', '*TOKEN*', '*SECRET*'] },
    })
    const text = (await process.closed()).text()
    expect(text).toContain('MY_FLAG=1')
    expect(text).not.toMatch(
      /^(ELECTRON_|NODE_OPTIONS=|NODE_CHANNEL|CHROME_|GATEHOUSE_.*(TOKEN|SECRET)|.*(KEY|TOKEN|SECRET).*=)/m,
    )
  })

  it('E54 finds programs in the PATH of the child', async () => {
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'hello-tool'), '#!/bin/sh\necho hi\n')
    chmodSync(join(bin, 'hello-tool'), 0o755)
    for (const tty of [false, true]) {
      const process = await client.run(['hello-tool'], { tty, env: { PATH: `${bin}:/usr/bin:/bin` } }).closed()
      expect(process.text().trim()).toBe('hi')
    }
    const relative = await client.run(['./hello-tool'], { cwd: `file://${bin}` }).closed()
    expect(relative.text()).toBe('hi\n')
  })
})

describe('output', () => {
  it('E01 E03 arrives byte for byte, each stream for itself', async () => {
    const writer = `
import os, time
for fd, b in [(1,b'\\xe2'),(2,b'\\xf0'),(1,b'\\x82'),(2,b'\\x9f'),(1,b'\\xac'),(2,b'\\x98'),(2,b'\\x80'),(1,b'\\n')]:
    os.write(fd, b); time.sleep(.02)`
    const split = await client.run(['python3', '-c', writer]).closed()
    expect(split.text('stdout')).toBe('€\n')
    expect(split.text('stderr')).toBe('😀')
    const odd = await client.run(['printf', 'a\\000b\\377\\376c\\n']).closed()
    expect(odd.bytes()).toEqual(Buffer.from([0x61, 0, 0x62, 0xff, 0xfe, 0x63, 0x0a]))
  })

  it('E08 of 100 MB arrives complete while others are served, in bounded memory', async () => {
    const rssMiB = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
    const before = rssMiB()
    const flood = await sh('head -c 104857600 /dev/zero | tr "\\0" x; echo; echo END').running()
    await client.until(() => flood.chunkSizes.length > 20)
    expect((await client.run(['echo', 'ping']).closed()).text()).toBe('ping\n')
    await flood.closed()
    expect(flood.bytes().length).toBe(104_857_600 + 5)
    expect(flood.text().endsWith('x\nEND\n')).toBe(true)
    expect(contiguous(flood.seqs)).toBe(true)
    expect(Math.max(...flood.chunkSizes)).toBeLessThanOrEqual(65_536)
    expect(rssMiB() - before).toBeLessThan(100)
    // An old cursor shows the gap: the first chunk is far beyond it.
    const page = (await flood.read({ afterSeq: 1, maxBytes: 1 })) as { chunks: { seq: number }[] }
    expect(page.chunks[0]?.seq).toBeGreaterThan(2)
  })

  it('E09 can be read from the first byte to the last line of a long one, with the exit code', async () => {
    const script = "for i in range(3): print(str(i)*400000)\nprint('error: link failed'); raise SystemExit(3)"
    const process = await client.run(['python3', '-c', script]).closed()
    const pages: Buffer[] = []
    for (let afterSeq = 0; ;) {
      const page = (await process.read({ afterSeq, maxBytes: 100_000 })) as {
        chunks: { seq: number; chunk: string }[]
        exitCode: number
      }
      expect(page.exitCode).toBe(3)
      if (page.chunks.length === 0) break
      for (const { seq, chunk } of page.chunks) {
        pages.push(Buffer.from(chunk, 'base64'))
        afterSeq = seq
      }
    }
    const text = Buffer.concat(pages).toString()
    expect(text.length).toBe(1_200_003 + 'error: link failed\n'.length)
    expect(text.startsWith('000')).toBe(true)
    expect(text.endsWith('\nerror: link failed\n')).toBe(true)
  })

  it('a reader that pages behind a flood gets every byte', async () => {
    const process = await sh('head -c 60000000 /dev/urandom | tee /dev/stderr | sha256sum', {
      pipeStdin: false,
    }).running()
    const hash = createHash('sha256')
    let bytes = 0
    for (let afterSeq = 0; ;) {
      const page = (await process.read({ afterSeq, maxBytes: 1 << 20, waitMs: 5_000 })) as {
        chunks: { seq: number; stream: string; chunk: string }[]
        closed: boolean
      }
      for (const { seq, stream, chunk } of page.chunks) {
        afterSeq = seq
        if (stream !== 'stderr') continue
        const piece = Buffer.from(chunk, 'base64')
        bytes += piece.length
        hash.update(piece)
      }
      if (page.closed && page.chunks.length === 0) break
    }
    expect(bytes).toBe(60_000_000)
    expect((await process.closed()).text('stdout')).toContain(hash.digest('hex'))
  })

  it('is read with waiting as the wire has it', async () => {
    const process = await sh('read a; echo a; read b; echo b; read c', { pipeStdin: true }).running()
    expect(await process.read({})).toEqual({
      chunks: [],
      nextSeq: 1,
      exited: false,
      exitCode: null,
      closed: false,
      failure: null,
      sandboxDenied: false,
    })
    expect(await process.read({ waitMs: 50 })).toMatchObject({ chunks: [], nextSeq: 1 })
    const first = process.read({ waitMs: 30_000 })
    await process.write('\n')
    expect(await first).toMatchObject({ chunks: [{ seq: 1, stream: 'stdout', chunk: 'YQo=' }], nextSeq: 2 })
    const second = process.read({ afterSeq: 1, waitMs: 30_000 })
    await process.write('\n')
    expect(await second).toMatchObject({ chunks: [{ seq: 2 }], nextSeq: 3 })
    const end = process.read({ afterSeq: 2, waitMs: 30_000 })
    await process.write('\n')
    expect(await end).toMatchObject({ chunks: [], exited: true, exitCode: 0, closed: true, nextSeq: 5 })
    expect(await process.read({ maxBytes: 0 })).toMatchObject({ chunks: [{ seq: 1 }], nextSeq: 2, exited: true })
    expect(await process.read({ afterSeq: 1 })).toMatchObject({ chunks: [{ seq: 2 }], nextSeq: 5 })
    expect(await client.ask('process/read', { processId: 'nobody' })).toMatchObject({
      error: { code: -32600, message: 'unknown process id nobody' },
    })
  })
})

describe('input', () => {
  it('E28 ends at once for programs that were started without one', async () => {
    expect((await client.run(['cat']).closed()).text()).toBe('')
    const count = await client.run(['python3', '-c', 'import sys;print(len(sys.stdin.read()))']).closed()
    expect(count.text()).toBe('0\n')
  })

  it('E30 of 10 MiB arrives whole and ends when asked to', async () => {
    const bytes = Buffer.alloc(10 * 1024 * 1024)
    for (let i = 0; i < bytes.length; i++) bytes[i] = i % 251
    const process = await client.run(['sha256sum'], { pipeStdin: true }).running()
    expect((await process.write(bytes, { closeStdin: true })).result).toEqual({ status: 'accepted' })
    expect((await process.write('more')).result).toEqual({ status: 'stdinClosed' })
    const expected = createHash('sha256').update(bytes).digest('hex')
    expect((await process.closed()).text()).toBe(`${expected}  -\n`)
  })

  it('E30 of many writers is delivered in the order of acceptance', async () => {
    const process = await client.run(['cat'], { pipeStdin: true }).running()
    const words = Array.from({ length: 300 }, (_, i) => `${i}\n`)
    await Promise.all(words.map((word) => process.write(word)))
    await process.write('', { closeStdin: true })
    expect((await process.closed()).text()).toBe(words.join(''))
  })

  it('is accepted without end for a child that never reads, and does not hold up the server', async () => {
    const process = await client.run(['sleep', '60'], { pipeStdin: true }).running()
    for (let i = 0; i < 8; i++)
      expect((await process.write(Buffer.alloc(1024 * 1024, 1))).result).toEqual({ status: 'accepted' })
    expect(await process.terminate()).toEqual({ running: true })
    await process.closed()
  })

  it('E31 answers with its state where there is none to write to', async () => {
    const ended = await client.run(['true']).closed()
    expect((await ended.write([3] as unknown as Uint8Array)).result).toEqual({ status: 'stdinClosed' })
    const running = await client.run(['sleep', '60']).running()
    expect((await running.write('\x03')).result).toEqual({ status: 'stdinClosed' })
    expect((await client.call('process/write', { processId: 'nobody', chunk: '', writeId: '1' })).status).toBe(
      'unknownProcess',
    )
    const gone = await client.run(['true'], { pipeStdin: true }).closed()
    expect((await gone.write('late')).result).toEqual({ status: 'accepted' })
    await running.interrupt()
    expect((await running.closed()).exitCode).toBe(130)
  })

  it('is written once however often a write is repeated', async () => {
    const process = await client.run(['cat'], { pipeStdin: true }).running()
    const write = (text: string, writeId: string) =>
      client.ask('process/write', { processId: process.id, chunk: Buffer.from(text).toString('base64'), writeId })
    await write('a', '1')
    expect((await write('a', '1')).result).toEqual({ status: 'accepted' })
    expect((await write('different', '1')).result).toEqual({ status: 'accepted' })
    for (let i = 0; i < 4_096; i++) void write('', `fill-${i}`)
    await write('b', '1')
    await process.write('', { closeStdin: true })
    expect((await process.closed()).text()).toBe('ab')
  })

  it('refuses what is no base64, and an empty write id', async () => {
    const process = await client.run(['cat'], { pipeStdin: true }).running()
    const write = (chunk: string, writeId = 'x') =>
      client.ask('process/write', { processId: process.id, chunk, writeId })
    expect((await write('QQ')).error).toMatchObject({ code: -32602, message: expect.stringContaining('chunk') })
    expect((await write('QQ==', '')).error).toMatchObject({ code: -32602, message: 'writeId must not be empty' })
    await process.terminate()
  })
})

describe('ends', () => {
  it('E13 children start with every signal as it is by default', async () => {
    const script = 'yes | head -1; echo ${PIPESTATUS[0]}; grep -E "Sig(Ign|Blk)" /proc/self/status'
    for (const tty of [false, true]) {
      const process = await client.run(['bash', '-c', script], { tty }).closed()
      expect(process.text().replaceAll('\r', '')).toMatch(/^y\n141\nSigBlk:\s+0+\nSigIgn:\s+0+\n$/)
    }
  })

  it('E15 an exit is told at once, and output that comes after it still arrives', async () => {
    const process = client.run(['bash', '-c', '(sleep 1.5; echo late) & echo parent'])
    await process.exited()
    expect(process.exitCode).toBe(0)
    expect(process.isClosed).toBe(false)
    expect(process.text()).toBe('parent\n')
    await process.closed()
    expect(process.text()).toBe('parent\nlate\n')
    expect(process.events).toEqual(['output', 'exited', 'output', 'closed'])
    expect(contiguous(process.seqs)).toBe(true)
  })

  it('codes say which signal ended a process on pipes', async () => {
    for (const [signal, code] of [
      ['INT', 130],
      ['KILL', 137],
      ['TERM', 143],
    ] as const)
      expect((await sh(`kill -${signal} $$`).closed()).exitCode).toBe(code)
    const process = await client.run(['sleep', '60']).running()
    await process.interrupt()
    expect((await process.closed()).exitCode).toBe(130)
    expect(await client.call('process/signal', { processId: 'nobody', signal: 'interrupt' })).toEqual({})
    expect(await process.interrupt()).toEqual({})
    expect(await client.ask('process/signal', { processId: process.id, signal: 'terminate' })).toMatchObject({
      error: { code: -32602 },
    })
  })

  it('E25 terminate ends everything in spite of steady output, and what was said is there', async () => {
    const fifo = join(folder, 'q987')
    const process = await client.run([
      'bash',
      '-c',
      `mkfifo ${fifo}; (while :; do echo w; sleep .1; done) > ${fifo} & cat ${fifo}`,
    ])
    await process.said('w\nw\n')
    expect(await process.terminate()).toEqual({ running: true })
    await process.closed()
    expect(process.exitCode).toBe(137)
    expect((await sh('pgrep -f q987 | grep -v $$ ; true').closed()).text()).toBe('')
  })

  it('terminate answers whether there was something to end', async () => {
    const process = await client.run(['true']).closed()
    expect(await process.terminate()).toEqual({ running: false })
    expect(await client.call('process/terminate', { processId: 'nobody' })).toEqual({ running: false })
  })
})
