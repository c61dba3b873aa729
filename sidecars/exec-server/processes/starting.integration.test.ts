import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
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
    [
      'a PATH whose only folder has a name longer than paths may be',
      { argv: ['true'], env: { PATH: 'y'.repeat(70_000) } },
      -32603,
      'spawnNotFound',
      'no folder of PATH can be searched',
    ],
    ['a file that is not executable', { argv: ['/etc/passwd'] }, -32603, 'spawnPermissionDenied', 'os error 13'],
    ['a folder that is a file', { cwd: 'file:///etc/passwd' }, -32603, 'spawnFailed', 'Not a directory (os error 20)'],
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
    async (
      _,
      { argv = ['true'], ...options }: { argv?: string[]; cwd?: string; env?: Record<string, string> },
      code,
      kind,
      words,
    ) => {
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
    for (const options of [{ enforceManagedNetwork: true }, { managedNetwork: { transparentTcp: true } }])
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
