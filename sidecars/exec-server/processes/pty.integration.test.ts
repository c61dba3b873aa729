import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

let server: ExecServerAlone
let client: ExecWireClient
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-pty-'))
  server = await startExecServerAlone()
  client = await ExecWireClient.open(server.url)
})
afterAll(async () => {
  client.drop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})
const terminal = (argv: string[], options = {}) => client.run(argv, { tty: true, ...options })
const masters = () => mastersOf(server.pid)
const mastersOf = (pid: number) =>
  readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).includes('ptmx')
    } catch {
      return false
    }
  }).length

describe('a process on a terminal', () => {
  it('has one of 24 rows and 80 columns, one stream, and ordinary line editing', async () => {
    const process = await terminal(['sh', '-c', 'tty; stty size; read x; echo got:$x; exit 5']).running()
    await process.said('24 80')
    expect((await process.write('hi\n')).result).toEqual({ status: 'accepted' })
    await process.closed()
    expect(process.text('pty')).toMatch(/^\/dev\/pts\/\d+\r\n24 80\r\nhi\r\ngot:hi\r\n$/)
    expect(process.exitCode).toBe(5)
    expect(process.seqs).toEqual(process.seqs.map((_, i) => i + 1))
  })

  it('E33 delivers exactly what was printed before it closes, a hundred times', async () => {
    const sizes: number[] = []
    for (let i = 0; i < 100; i++)
      sizes.push((await terminal(['sh', '-c', 'head -c 20000 /dev/zero | tr "\\0" z']).closed()).bytes().length)
    expect(sizes).toEqual(Array.from({ length: 100 }, () => 20_000))
  })

  it('E33 delivers a flood byte for byte', async () => {
    const process = await terminal(['sh', '-c', 'stty raw -echo; seq 1 700000']).closed()
    expect(process.text()).toBe(`${Array.from({ length: 700_000 }, (_, i) => i + 1).join('\n')}\n`)
  })

  it('E34 refuses a line that line mode would cut off, takes 4000 bytes, and 5000 in raw mode', async () => {
    const script = 'IFS= read -r l; echo; echo LEN=${#l}'
    const long = await terminal(['bash', '-c', script]).running()
    const refused = await long.write(`${'y'.repeat(5_000)}\n`)
    expect(refused.error).toMatchObject({ code: -32600, data: { kind: 'lineTooLong', lineBytes: 5_000 } })
    expect(refused.error?.message).toContain('5000 bytes')
    // Nothing of it was typed, and the terminal is as good as new.
    expect((await long.write(`${'y'.repeat(4_000)}\n`)).result).toEqual({ status: 'accepted' })
    expect((await long.closed()).text()).toContain('LEN=4000')

    const pieces = await terminal(['bash', '-c', script]).running()
    await pieces.write('y'.repeat(3_000))
    expect((await pieces.write('y'.repeat(2_000))).error?.data).toMatchObject({ lineBytes: 5_000 })
    await pieces.write('y'.repeat(1_000))
    await pieces.write('\n')
    expect((await pieces.closed()).text()).toContain('LEN=4000')

    const raw = await terminal(['bash', '-c', 'stty raw -echo; printf R; head -c 5000 | wc -c']).running()
    await raw.said('R')
    expect((await raw.write('y'.repeat(5_000))).result).toEqual({ status: 'accepted' })
    expect((await raw.closed()).text()).toMatch(/^R5000/)
  })

  it('gets its input in order although one of the writes had to be looked into', async () => {
    const process = await terminal(['bash', '-c', 'stty raw -echo; printf R; head -c 30006 | tail -c 6']).running()
    await process.said('R')
    const writes = [
      process.write('a'.repeat(10_000)),
      process.write('b'.repeat(10_000)),
      process.write('c'.repeat(10_000)),
    ]
    writes.push(process.write('END123'))
    for (const write of writes) expect((await write).result).toEqual({ status: 'accepted' })
    expect((await process.closed()).text()).toBe('REND123')
  })

  it('that does not read its input blocks nobody', async () => {
    const process = await terminal(['sleep', '60']).running()
    for (let i = 0; i < 6; i++)
      expect((await process.write(Buffer.alloc(1024 * 1024, '\n'))).result).toEqual({ status: 'accepted' })
    expect(await client.call('environment/status')).toEqual({ status: 'ready' })
    expect(await process.terminate()).toEqual({ running: true })
    await process.closed()
  })

  it('is interrupted by ^C and ended by ^D like any other', async () => {
    const cat = await terminal(['cat']).running()
    await cat.write('hello\n')
    await cat.said('hello\r\nhello\r\n')
    await cat.write('\x04')
    expect((await cat.closed()).exitCode).toBe(0)
    const sleep = await terminal(['sh', '-c', 'echo ready; exec sleep 60']).running()
    await sleep.said('ready')
    await sleep.write('\x03')
    expect((await sleep.closed()).exitCode).toBe(1)
  })

  it('has exit code 1 whatever signal ended it', async () => {
    const interrupted = await terminal(['sleep', '60']).running()
    await interrupted.interrupt()
    expect((await interrupted.closed()).exitCode).toBe(1)
    const killed = await terminal(['sleep', '60']).running()
    await killed.terminate()
    expect((await killed.closed()).exitCode).toBe(1)
  })

  it('E15 that has ended closes only when nobody can print on its terminal any more', async () => {
    const process = terminal(['bash', '-c', 'trap "" HUP; (sleep 1; echo late) & echo parent'])
    await process.exited()
    expect(process.isClosed).toBe(false)
    await process.closed()
    expect(process.text()).toBe('parent\r\nlate\r\n')
    expect(process.events).toEqual(['output', 'exited', 'output', 'closed'])
  })

  it('shares its master with nobody: no program that is started beside it finds one', async () => {
    const list = ['ls', '-l', '/proc/self/fd']
    const descriptors = (text: string) =>
      text
        .split('\n')
        .map((line) => /(\d+) -> (.*?)\r?$/.exec(line))
        .filter((match) => match !== null)
        .map(([, fd, target]) => ({ fd: Number(fd), target: target as string }))
    // What the server itself was started with, and the folder that `ls` reads.
    const before = new Set(descriptors((await client.run(list).closed()).text()).map(({ fd }) => fd))
    const open = await Promise.all([1, 2, 3].map(() => terminal(['sh', '-c', 'echo up; exec sleep 60']).running()))
    await Promise.all(open.map((process) => process.said('up')))
    expect(masters()).toBeGreaterThanOrEqual(3)
    const onPipes = descriptors((await client.run(list).closed()).text())
    expect(onPipes.filter(({ fd, target }) => !before.has(fd) && target !== '/dev/null')).toEqual([])
    const onTerminal = descriptors((await terminal(list).closed()).text('pty'))
    expect(onTerminal.filter(({ fd }) => !before.has(fd))).toEqual([])
    expect(new Set(onTerminal.slice(0, 3).map(({ target }) => target.replace(/\d+$/, 'N')))).toEqual(
      new Set(['/dev/pts/N']),
    )
    // Nor do the helpers of the server itself.
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(server.pid)], { encoding: 'utf8' })
    for (const pid of children.trim().split(/\s+/)) expect(`${pid}: ${mastersOf(Number(pid))}`).toBe(`${pid}: 0`)
    await Promise.all(open.map((process) => process.terminate()))
    await Promise.all(open.map((process) => process.closed()))
  })

  it('beside others gets its environment, name and exit code unchanged', async () => {
    const other = await terminal(['sh', '-c', 'echo up; exec sleep 60']).running()
    await other.said('up')
    const env = {
      PATH: '/usr/bin:/bin',
      SHELL: '/bin/sh',
      LC_ALL: 'xx_YY.UTF-8',
      PERL5OPT: '-Mno_such_module',
      ODD: 'a=b\tc',
    }
    const lines = (text: string) => text.split(/\r?\n/).sort()
    const onPipes = lines((await client.run(['env'], { env }).closed()).text())
    expect(onPipes).toEqual(expect.arrayContaining(Object.entries(env).map(([name, value]) => `${name}=${value}`)))
    expect(lines((await terminal(['env'], { env }).closed()).text('pty'))).toEqual(onPipes)
    expect((await terminal(['sh', '-c', 'exit 7']).closed()).exitCode).toBe(7)
    await other.terminate()
    await other.closed()
  })

  it('sees the name it was given as arg0', async () => {
    const process = await terminal(['/bin/sh', '-c', 'ps -o args= -p $$; echo $EXACT'], {
      arg0: '-gatehouse',
      env: { PATH: '/usr/bin:/bin', EXACT: 'yes' },
    }).closed()
    expect(process.text()).toContain('-gatehouse -c ps')
    expect(process.text()).toContain('yes')
  })

  it('says like one on pipes why it could not start', async () => {
    expect(await terminal(['no-such-program']).started).toMatchObject({
      error: { code: -32603, data: { kind: 'spawnNotFound', part: 'program' } },
    })
    expect(await terminal(['true'], { cwd: 'file:///nonexistent' }).started).toMatchObject({
      error: { data: { kind: 'spawnNotFound', part: 'cwd' } },
    })
    expect(await terminal(['/etc/passwd']).started).toMatchObject({
      error: { data: { kind: 'spawnPermissionDenied' } },
    })
  })

  it('E37 shows a long git log at once when the environment names no pager, and can be left when it does', async () => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid', ...args], { cwd: folder })
    git('init', '-q', '.')
    for (let i = 0; i < 60; i++) git('commit', '-q', '--allow-empty', '-m', `c${i}`)
    const env = { PATH: '/usr/bin:/bin', TERM: 'xterm-256color', HOME: folder }
    const plain = await terminal(['git', 'log'], {
      cwd: `file://${folder}`,
      env: { ...env, GIT_PAGER: 'cat' },
    }).closed()
    expect(plain.text().match(/^commit |\ncommit |mcommit /g)).toHaveLength(60)
    const paged = await terminal(['git', 'log'], {
      cwd: `file://${folder}`,
      env: { ...env, GIT_PAGER: 'sh -c "head -1; read q </dev/tty; exit 0"' },
    })
    await paged.said('commit ')
    await paged.write('q\n')
    await paged.closed()
  })

  it('E39 gives control back on an incomplete command: at once without a terminal, by ^C with one', async () => {
    expect((await client.run(['bash', '-c', "cat <<'EOF'\nhello\n  EOF"]).closed()).text()).toContain('hello')
    expect((await client.run(['bash', '-c', 'echo "unbalanced']).closed()).exitCode).not.toBe(0)
    const shell = await terminal(['bash', '--norc', '-i'], {
      env: { PATH: '/usr/bin:/bin', PS1: 'PROMPT>', PS2: 'MORE>' },
    })
    await shell.said('PROMPT>')
    await shell.write('echo "unbalanced\n')
    await shell.said('MORE>')
    // A terminal drops what was typed around ^C: the prompt says when the shell listens again. Bash loses an
    // interrupt that comes just after its prompt, whatever the terminal; a person presses again.
    const before = shell.text().split('PROMPT>').length
    const isBack = async () => {
      await shell.write('\x03')
      await new Promise((resolve) => setTimeout(resolve, 100))
      return shell.text().split('PROMPT>').length > before
    }
    await expect.poll(isBack).toBe(true)
    await shell.write('echo o""k\n')
    await shell.said('ok\r\n')
    await shell.write('exit\n')
    await shell.closed()
  })

  it('E38 leaves nothing open: 600 terminals later all is as before, and the next one works', async () => {
    const zombies = () =>
      execFileSync('ps', ['-o', 'stat=', '--ppid', String(server.pid)], { encoding: 'utf8' })
        .split('\n')
        .filter((stat) => stat.startsWith('Z')).length
    const before = masters()
    const batches = async (count: number, run: () => Promise<unknown>) => {
      for (let i = 0; i < count; i += 20) await Promise.all(Array.from({ length: 20 }, run))
    }
    await batches(200, () => terminal(['true']).closed())
    await batches(200, async () => {
      const process = await terminal(['sleep', '60']).running()
      await process.terminate()
      await process.closed()
    })
    await batches(200, () => terminal(['/nonexistent/prog']).started)
    await expect.poll(masters).toBe(before)
    await expect.poll(zombies).toBe(0)
    expect((await terminal(['echo', '601']).closed()).text()).toBe('601\r\n')
  })
})
