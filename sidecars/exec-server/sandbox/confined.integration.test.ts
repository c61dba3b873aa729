import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { toPathUri } from '../../protocol/path-uri.ts'
import {
  entry,
  READ_ONLY,
  refusalOf,
  runConfined,
  sandboxOf,
  WORKSPACE_WRITE,
  type SandboxShape,
} from '../../testing/confined-commands.ts'
import { EXEC_SERVER_FILE, startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { startExecServer } from '../../testing/exec-server-process.ts'
import { ExecWireClient, type StartOptions } from '../../testing/exec-wire-client.ts'
import { isAlive } from '../../testing/is-alive.ts'

/** What a sandbox leaves as it is: programs, signals, exit codes, terminals, the way through the proxy. */

let server: ExecServerAlone
let client: ExecWireClient
let base: string
let workspace: string

beforeAll(async () => {
  server = await startExecServerAlone()
  client = await ExecWireClient.open(server.url)
})
afterAll(async () => {
  client.drop()
  await server.stop()
})
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-confined-')))
  workspace = join(base, 'ws')
  mkdirSync(workspace)
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const PATH = process.env.PATH ?? '/usr/bin:/bin'

function confined(shape: Partial<SandboxShape> = {}, more: StartOptions = {}): StartOptions {
  return {
    cwd: toPathUri(workspace),
    env: { PATH, HOME: workspace },
    sandbox: sandboxOf({ root: workspace, entries: WORKSPACE_WRITE, ...shape }),
    ...more,
  }
}
const run = (commandLine: string, shape: Partial<SandboxShape> = {}, more: StartOptions = {}) =>
  runConfined(client, commandLine, confined(shape, more))

describe('inside the writable roots', () => {
  it.each([
    [
      'git',
      'git init -q repo && cd repo && echo a > f && git add f && git -c user.name=t -c user.email=t@example.invalid commit -q -m i && git log --format=%s',
      'i\n',
    ],
    [
      'git, cloning',
      'git init -q a && git -C a -c user.name=t -c user.email=t@example.invalid commit -q --allow-empty -m i && git clone -q a b && git -C b log --format=%s',
      'i\n',
    ],
    [
      'python',
      'python3 -c "import multiprocessing as m,tempfile;t=tempfile.TemporaryFile();p=m.Pool(2);print(p.map(abs,[-1,-2]))"',
      '[1, 2]\n',
    ],
    [
      'node',
      `node -e 'require("child_process").execFile("echo",["hi"],(e,o)=>{require("fs").writeFileSync("f",o);console.log(require("fs").readFileSync("f","utf8").trim())})'`,
      'hi\n',
    ],
    [
      'npm',
      `echo '{"name":"x","version":"1.0.0","scripts":{"build":"echo built > out"}}' > package.json && npm run --silent build && cat out`,
      'built\n',
    ],
    [
      'a compiler',
      `printf '#include <stdio.h>\\nint main(){puts("compiled");}' > a.c && gcc -o a a.c && ./a`,
      'compiled\n',
    ],
    ['make and a shell pipeline', 'seq 3 | tee list | wc -l && cat list | sort -r | head -1', '3\n3\n'],
    ['temporary files', 'mktemp -d ./t.XXXXXX > /dev/null && echo x > /dev/shm/x && cat /dev/shm/x', 'x\n'],
    ['device files', 'echo out > /dev/stdout; head -c 3 /dev/zero | wc -c; echo gone > /dev/null', 'out\n3\n'],
  ])('%s works', async (_, commandLine, text) => {
    expect(await run(commandLine)).toEqual({ sandboxType: 'linuxSeccomp', exitCode: 0, sandboxDenied: false, text })
  })

  it('everything can be read under read-only, and the command runs where it was told to', async () => {
    writeFileSync(join(workspace, 'file'), 'content\n')
    expect(await run('cat file; pwd; cat /etc/hostname > /dev/null', { entries: READ_ONLY })).toMatchObject({
      text: `content\n${workspace}\n`,
      exitCode: 0,
    })
  })

  it('temporary folders can be written when they were named', async () => {
    const entries = [...WORKSPACE_WRITE, entry({ kind: 'slash_tmp' }, 'write')]
    const name = `/tmp/gatehouse-confined-${process.pid}`
    expect((await run(`echo x > ${name} && cat ${name}; rm ${name}; mkdir /tmp/.git/hooks`, { entries })).text).toMatch(
      /^x\n.*Read-only file system\n$/,
    )
  })

  it('E122 a worktree works when git may write, and what git runs stays as it is', async () => {
    const git = (cwd: string, ...words: string[]) => execFileSync('git', words, { cwd, encoding: 'utf8' })
    git(workspace, 'init', '-q', 'main')
    const main = join(workspace, 'main')
    git(main, '-c', 'user.name=t', '-c', 'user.email=t@example.invalid', 'commit', '-q', '--allow-empty', '-m', 'i')
    git(main, 'worktree', 'add', '-q', '../wt')
    const worktree = join(workspace, 'wt')
    const attempts =
      'echo a > f && git add f && git diff --cached --name-only; echo "touch P" > ../main/.git/hooks/pre-commit; git config core.pager ./p'
    const config = readFileSync(join(main, '.git/config'), 'utf8')

    const granted = [...WORKSPACE_WRITE, entry(join(main, '.git'), 'write')]
    const more = { cwd: toPathUri(worktree) }
    const allowed = await run(attempts, { root: worktree, entries: granted }, more)
    expect(allowed.text).toMatch(/^f\n/)
    expect(allowed.text).toMatch(/pre-commit: Read-only file system/)
    expect(allowed.text).toMatch(/could not (lock|write) config file/)
    expect(readFileSync(join(main, '.git/config'), 'utf8')).toBe(config)
    expect(existsSync(join(main, '.git/hooks/pre-commit'))).toBe(false)

    const refused = await run('echo b > g && git add g', { root: worktree }, more)
    expect(refused.text).toContain(join(main, '.git/worktrees/wt'))
    expect(refused).toMatchObject({ sandboxDenied: true, exitCode: 128 })
  })
})

describe.each([
  ['on pipes', false],
  ['on a terminal', true],
])('%s', (_, tty) => {
  const words = (text: string) => text.replaceAll('\r\n', '\n')

  it.each([
    [0, 'exit 0'],
    [7, 'exit 7'],
    [126, 'exit 126'],
    [137, 'kill -9 $$'],
    [143, 'kill -TERM $$'],
    [130, 'kill -INT $$'],
  ])('exit code %i is that of the command', async (exitCode, commandLine) => {
    expect(await run(commandLine, {}, { tty })).toMatchObject({ exitCode, sandboxDenied: false })
  })

  it('E13 signals are neither ignored nor blocked', async () => {
    const { text } = await run(
      'yes | head -1; echo ${PIPESTATUS[0]}; grep -E "Sig(Ign|Blk)" /proc/self/status',
      {},
      { tty },
    )
    expect(words(text)).toBe('y\n141\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n')
  })

  it('an interrupt reaches the command, which answers in its own way', async () => {
    const process = client.run(
      ['/bin/bash', '-c', 'trap "echo caught; exit 7" INT; echo up; while :; do sleep 0.1; done'],
      confined({}, { tty }),
    )
    await (await process.running()).said('up')
    await process.interrupt()
    await process.closed()
    expect(process.exitCode).toBe(7)
    expect(process.text()).toContain('caught')
  })

  it('an interrupt ends a command that does not mind it', async () => {
    const process = client.run(['/bin/sh', '-c', 'echo up; exec sleep 300'], confined({}, { tty }))
    await (await process.running()).said('up')
    await process.interrupt()
    expect((await process.closed()).exitCode).toBe(130)
  })

  it('terminating takes everything with it, also what has left the group', async () => {
    const process = client.run(
      ['/bin/bash', '-c', 'setsid sleep 300 & setsid sleep 300 & echo up; sleep 300'],
      confined({}, { tty, env: { PATH, GATEHOUSE_TEST_MARK: base } }),
    )
    await (await process.running()).said('up')
    let inside: number[] = []
    // The children print nothing: they are there when they can be seen.
    while (inside.length < 3) {
      inside = pidsWith(`GATEHOUSE_TEST_MARK=${base}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await process.terminate()
    await process.closed()
    while (inside.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(process.exitCode).toBe(tty ? 1 : 137)
  })

  it('another name for the program, odd names and odd words arrive as they are', async () => {
    const odd = join(workspace, 'a=b c')
    writeFileSync(odd, '#!/bin/sh\nprintf "%s|" "$@"\n')
    chmodSync(odd, 0o755)
    const oddly = client.run([odd, '--', '$x', "'", ''], confined({}, { tty }))
    expect((await oddly.closed()).text()).toBe("--|$x|'||")
    const named = client.run(['/bin/bash', '-c', 'echo $0 "$1"', 'zero', 'one'], confined({}, { tty, arg0: 'other' }))
    expect(words((await named.closed()).text())).toBe('zero one\n')
    const seen = client.run(['/bin/cat', '/proc/self/cmdline'], confined({}, { tty, arg0: 'other' }))
    expect((await seen.closed()).text()).toBe('other\0/proc/self/cmdline\0')
  })

  it('nothing is open but the standard streams', async () => {
    expect(
      words((await run('ls /proc/self/fd', {}, { tty })).text)
        .split(/\s+/)
        .filter(Boolean),
    ).toEqual(['0', '1', '2', '3'])
  })

  it('a program or folder that is not there is named as without a sandbox', async () => {
    const program = client.run(['/nonexistent/x'], confined({}, { tty }))
    expect(await refusalOf(program)).toMatchObject({
      message: 'No such file or directory (os error 2)',
      data: { kind: 'spawnNotFound', part: 'program' },
    })
    const folder = client.run(['/bin/true'], confined({}, { tty, cwd: toPathUri(join(workspace, 'none')) }))
    expect(await refusalOf(folder)).toMatchObject({ data: { kind: 'spawnNotFound', part: 'cwd' } })
  })
})

it('what the server itself was given stays closed to commands, whoever starts them', async () => {
  const program = { program: 'bash', args: ['-c', 'exec 77</etc/passwd; exec "$@"', 'bash', process.execPath] }
  const given = await startExecServer(
    { name: 'with an open file', isOurs: true, ...program, args: [...program.args, EXEC_SERVER_FILE] },
    { ...process.env, TMPDIR: base },
  )
  onTestFinished(() => given.stop())
  const other = await ExecWireClient.open(given.url)
  onTestFinished(() => other.drop())
  // The first ones are the server's own children, later ones those of its helper.
  for (const tty of [false, false, true, false, false]) {
    const { text } = await runConfined(other, 'ls /proc/self/fd', confined({}, { tty }))
    expect(text.split(/\s+/).filter(Boolean)).toEqual(['0', '1', '2', '3'])
  }
})

describe('a terminal', () => {
  it('is one: it has a size, a name and job control', async () => {
    const { text } = await run(
      'test -t 0 && stty size; set -m; sleep 0 & wait; echo done > /dev/tty',
      {},
      { tty: true },
    )
    expect(text.replaceAll('\r', '')).toMatch(/^24 80\n[^]*done\n$/)
  })

  it('takes Ctrl-C by key', async () => {
    const process = client.run(
      ['/bin/bash', '-c', 'trap "exit 9" INT; echo up; while :; do sleep 0.1; done'],
      confined({}, { tty: true }),
    )
    await (await process.running()).said('up')
    await process.write('\x03')
    expect((await process.closed()).exitCode).toBe(9)
  })

  it('cannot be typed into by the command', async () => {
    const script = `import fcntl,termios
try: fcntl.ioctl(0,termios.TIOCSTI,b"x"); print("typed")
except OSError as e: print(e.strerror)`
    expect((await run(`python3 -c '${script}'`, {}, { tty: true })).text).toBe('Operation not permitted\r\n')
  })
})

describe('denials', () => {
  it('are told with the exit and to those who read later', async () => {
    const process = client.run(['/bin/sh', '-c', 'echo x > /etc/gatehouse; exit 3'], confined())
    await process.closed()
    expect(client.notifications('process/exited').at(-1)?.params).toMatchObject({ exitCode: 3, sandboxDenied: true })
    expect(await process.read()).toMatchObject({ exitCode: 3, sandboxDenied: true })
  })
  it('are not told of a success, of other failures, or without walls', async () => {
    expect(await run('echo x > /etc/gatehouse; true')).toMatchObject({ exitCode: 0, sandboxDenied: false })
    expect(await run('cat /nonexistent')).toMatchObject({ exitCode: 1, sandboxDenied: false })
    const free = await runConfined(client, 'echo permission denied; exit 1', {})
    expect(free).toMatchObject({ sandboxType: 'none', exitCode: 1, sandboxDenied: false })
  })
})

describe('the way through the proxy', () => {
  let proxy: Server
  let port: number
  let asked: string[]

  beforeEach(async () => {
    asked = []
    proxy = createHttpServer((incoming, answer) => {
      asked.push(`${incoming.headers['proxy-authorization'] ?? ''} ${incoming.url}`)
      answer.end('through the proxy\n')
    })
    proxy.on('connect', (incoming, socket) => {
      asked.push(`CONNECT ${incoming.url}`)
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    port = (proxy.address() as { port: number }).port
  })
  afterEach(async () => {
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  })

  const managed = (more: StartOptions = {}): StartOptions =>
    confined(
      { network: 'enabled' },
      {
        enforceManagedNetwork: true,
        env: { PATH, HTTP_PROXY: `http://lease:x@127.0.0.1:${port}`, http_proxy: `http://lease:x@127.0.0.1:${port}` },
        ...more,
      },
    )

  it.each([
    ['on pipes', false],
    ['on a terminal', true],
  ])('is open %s', async (_, tty) => {
    const { text, exitCode } = await runConfined(client, 'curl -s http://example.test/x', managed({ tty }))
    expect({ text: text.replace('\r', ''), exitCode }).toEqual({ text: 'through the proxy\n', exitCode: 0 })
    expect(asked).toEqual([`Basic ${Buffer.from('lease:x').toString('base64')} http://example.test/x`])
  })

  it('carries much at once, both ways', async () => {
    const sizeBytes = 8 * 1024 * 1024
    proxy.removeAllListeners('request')
    proxy.on('request', (incoming, answer) => incoming.pipe(answer))
    const line = `head -c ${sizeBytes} /dev/urandom > big; for i in 1 2 3; do curl -s --data-binary @big http://example.test/$i | cmp - big & done; wait; wc -c < big`
    expect((await runConfined(client, line, managed())).text).toBe(`${sizeBytes}\n`)
  })

  it('is the only one', async () => {
    const other = createServer((socket) => socket.end('reached\n'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    try {
      const { port: otherPort } = other.address() as { port: number }
      const line = `for to in 127.0.0.1/${otherPort} 198.51.100.1/80; do timeout 5 bash -c "cat < /dev/tcp/$to"; done; exit 0`
      const { text } = await runConfined(client, line, managed())
      expect(text).not.toContain('reached')
      expect(text).toMatch(/Connection refused/)
      expect(text).toMatch(/Network is unreachable/)
      const unix = await runConfined(client, `python3 -c 'import socket;socket.socket(socket.AF_UNIX)'`, managed())
      expect(unix.text).toMatch(/not permitted/)
    } finally {
      await new Promise((resolve) => other.close(resolve))
    }
  })

  it('belongs to one command: another has a loopback of its own', async () => {
    const process = client.run(
      [
        'python3',
        '-c',
        'import http.server as h;s=h.HTTPServer(("127.0.0.1",0),h.SimpleHTTPRequestHandler);print(s.server_port,flush=True);s.serve_forever()',
      ],
      managed(),
    )
    await (await process.running()).said('\n')
    const { text } = await runConfined(client, `cat < /dev/tcp/127.0.0.1/${process.text().trim()}`, managed())
    expect(text).toMatch(/Connection refused/)
    await process.terminate()
    await process.closed()
  })

  it('is gone when the command is', async () => {
    const process = client.run(['/bin/sh', '-c', 'echo up; read x'], managed({ pipeStdin: true }))
    await (await process.running()).said('up')
    expect(bridgesOf(server.pid)).toBe(1)
    await process.write('\n')
    await process.closed()
    while (bridgesOf(server.pid) > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  })

  it('is refused without a proxy to lead to', async () => {
    const process = client.run(['/bin/true'], managed({ env: { PATH } }))
    expect(await refusalOf(process)).toMatchObject({
      data: { kind: 'sandboxUnavailable' },
      message: expect.stringContaining('there is none'),
    })
  })
})

describe('without a sandbox to be had', () => {
  /** A server whose PATH holds nothing but `programs`. */
  async function serverWith(programs: Record<string, string>) {
    const folder = join(base, 'bin')
    mkdirSync(folder)
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(folder, name), text)
      chmodSync(join(folder, name), 0o755)
    }
    const poor = await startExecServerAlone({ env: { PATH: folder } })
    const itsClient = await ExecWireClient.open(poor.url)
    return {
      client: itsClient,
      async stop() {
        itsClient.drop()
        await poor.stop()
      },
    }
  }

  it.each([
    ['is missing', {}, /bubblewrap \(bwrap\) was not found .*apt-get install bubblewrap/],
    [
      'fails',
      { bwrap: '#!/bin/sh\necho "bwrap: broken" >&2\nexit 1\n' },
      /bwrap cannot make a sandbox here: bwrap: broken.*apt-get install/,
    ],
    [
      'may not make namespaces',
      { bwrap: '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n' },
      /the kernel does not let this account make namespaces/,
    ],
  ])('E119 nothing runs when bwrap %s, and the reason is told', async (_, programs, reason) => {
    const poor = await serverWith(programs)
    try {
      const process = poor.client.run(['/usr/bin/touch', join(workspace, 'x')], confined())
      expect(await refusalOf(process)).toMatchObject({
        data: { kind: 'sandboxUnavailable' },
        message: expect.stringMatching(reason),
      })
      expect(readdirSync(workspace)).toEqual([])
      expect((await poor.client.run(['/bin/echo', 'free']).closed()).text()).toBe('free\n')
    } finally {
      await poor.stop()
    }
  })
})

describe('two servers with one workspace', () => {
  const makesGit = 'mkdir -p .git/hooks && echo "touch P" > .git/hooks/pre-commit'

  it('keep what is protected closed until the last command of either has ended', async () => {
    const second = await startExecServerAlone()
    const secondClient = await ExecWireClient.open(second.url)
    try {
      const waiting = (from: ExecWireClient) =>
        from.run(['/bin/sh', '-c', `echo up; read x; ${makesGit}`], confined({}, { pipeStdin: true }))
      const [a, b] = [waiting(client), waiting(secondClient)]
      await (await a.running()).said('up')
      await (await b.running()).said('up')
      // The one ends; what it leaves must still be closed to the other.
      await a.write('\n')
      expect((await a.closed()).text()).toMatch(/Read-only file system/)
      // Another command of the one has come and gone: by now it has given back what it had.
      expect((await run('true')).exitCode).toBe(0)
      expect(readdirSync(workspace)).toContain('.git')
      await b.write('\n')
      expect((await b.closed()).text()).toMatch(/Read-only file system/)
      while (readdirSync(workspace).length > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    } finally {
      secondClient.drop()
      await second.stop()
    }
  })

  it('do not sweep each other’s when one is killed, and no command sees the files of either', async () => {
    const mortal = await startExecServerAlone({ tmp: server.tmp })
    const itsClient = await ExecWireClient.open(mortal.url)
    const doomed = itsClient.run(['/bin/sh', '-c', 'echo up; sleep 300'], confined())
    await (await doomed.running()).said('up')
    const mine = client.run(['/bin/sh', '-c', `echo up; read x; ${makesGit}`], confined({}, { pipeStdin: true }))
    await (await mine.running()).said('up')
    const parent = join(server.tmp, `gatehouse-exec-${process.getuid?.()}`)
    const entries = [...WORKSPACE_WRITE, entry({ kind: 'slash_tmp' }, 'write')]
    expect((await run(`ls ${parent}`, { entries })).text).toContain(`${parent}': Permission denied`)
    mortal.child.kill('SIGKILL')
    await mortal.exited
    // The watchdog has done its work when the folder is gone.
    while (readdirSync(parent).some((name) => name.startsWith(`${mortal.pid}-`)))
      await new Promise((resolve) => setTimeout(resolve, 20))
    expect(readdirSync(workspace)).toContain('.git')
    await mine.write('\n')
    expect((await mine.closed()).text()).toMatch(/Read-only file system/)
  })
})

describe('a server that goes', () => {
  it('leaves no process and no mount point, whichever way it goes', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const mortal = await startExecServerAlone()
      const itsClient = await ExecWireClient.open(mortal.url)
      const process = itsClient.run(
        ['/bin/sh', '-c', 'echo up; sleep 300'],
        confined({}, { env: { PATH, GATEHOUSE_TEST_MARK: base + signal } }),
      )
      await (await process.running()).said('up')
      expect(readdirSync(workspace)).toContain('.git')
      const inside = pidsWith(`GATEHOUSE_TEST_MARK=${base}${signal}`)
      // The watchdog learns of a new process within a few milliseconds.
      await itsClient.call('environment/status')
      await new Promise((resolve) => setTimeout(resolve, 100))
      mortal.child.kill(signal)
      await mortal.exited
      while (inside.some(isAlive) || readdirSync(workspace).length > 0)
        await new Promise((resolve) => setTimeout(resolve, 20))
      rmSync(mortal.tmp, { recursive: true, force: true })
    }
  })
})

/** Processes that were started with this entry in their environment. */
function pidsWith(environmentEntry: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(environmentEntry)
      } catch {
        return false
      }
    })
}

/** How many namespaces a server keeps for its commands. */
function bridgesOf(serverPid: number): number {
  const parents = new Map<number, { ppid: number; line: string }>()
  for (const name of readdirSync('/proc').filter((text) => /^\d+$/.test(text)))
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const ppid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      parents.set(Number(name), { ppid, line: readFileSync(`/proc/${name}/cmdline`, 'latin1') })
    } catch {
      // Gone.
    }
  return [...parents.values()].filter(({ ppid, line }) => ppid === serverPid && line.includes('--dev-bind')).length
}
