import { spawn, type ChildProcess } from 'node:child_process'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { createSocket, type Socket as Datagrams } from 'node:dgram'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { toPathUri } from '../../protocol/path-uri.ts'
import {
  entry,
  READ_ONLY,
  runConfined,
  sandboxOf,
  WORKSPACE_WRITE,
  type ConfinedRun,
} from '../../testing/confined-commands.ts'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

/** Commands that try to get out, run for real. A canary outside tells what they achieved. */

const CANARY = 'untouched\n'

let server: ExecServerAlone
let client: ExecWireClient
/** Holds everything of a test: the workspace `ws` and what lies outside of it. */
let base: string
let workspace: string
let outside: string

beforeAll(async () => {
  server = await startExecServerAlone({ env: { GATEHOUSE_HOME: join(mkHome(), 'home') } })
  client = await ExecWireClient.open(server.url)
})
afterAll(async () => {
  client.drop()
  await server.stop()
  rmSync(home, { recursive: true, force: true })
})

let home: string
function mkHome(): string {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-home-')))
  mkdirSync(join(home, 'home/run'), { recursive: true })
  writeFileSync(join(home, 'home/run/host.json'), '{"controlToken":"secret-token"}')
  return home
}

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-escape-')))
  workspace = join(base, 'ws')
  outside = join(base, 'out')
  for (const folder of [workspace, outside, join(workspace, '.git/hooks'), join(workspace, 'sub/kept')])
    mkdirSync(folder, { recursive: true })
  writeFileSync(join(outside, 'canary'), CANARY)
  writeFileSync(join(workspace, '.git/config'), '[core]\n')
  writeFileSync(join(workspace, 'sub/kept/file'), CANARY)
  writeFileSync(join(workspace, 'file'), 'mine\n')
})
afterEach(() => {
  expect(readFileSync(join(outside, 'canary'), 'utf8')).toBe(CANARY)
  expect(readdirSync(outside)).toEqual(['canary'])
  rmSync(base, { recursive: true, force: true })
})

const run = (commandLine: string, more: { entries?: object[]; network?: 'restricted' | 'enabled' } = {}) =>
  runConfined(client, commandLine, {
    cwd: toPathUri(workspace),
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', OUT: outside, WS: workspace, HOME: workspace },
    sandbox: sandboxOf({ root: workspace, entries: WORKSPACE_WRITE, ...more }),
  })

/** It failed, said why, and is known to have been stopped by its walls. */
function expectRefused(outcome: ConfinedRun, words: RegExp): void {
  expect(outcome.text).toMatch(words)
  expect(outcome.exitCode).not.toBe(0)
  expect(outcome.sandboxDenied).toBe(true)
}

const READ_ONLY_TEXT = /Read-only file system/
const CROSS_DEVICE = /Invalid cross-device link/

describe('files outside of the writable roots', () => {
  it.each([
    ['by path', 'echo x > "$OUT/canary"'],
    ['by a new file', 'echo x > "$OUT/new"'],
    ['by a way through the parent', 'echo x > ../out/canary'],
    ['by appending', 'echo x >> "$OUT/canary"'],
    ['by truncating', 'truncate -s 0 "$OUT/canary"'],
    ['by removing', 'rm -f "$OUT/canary"'],
    ['by renaming', 'mv "$OUT/canary" "$OUT/other"'],
    ['by renaming the folder', 'mv "$OUT" "$OUT.moved"'],
    ['by renaming the parent of everything', 'mv "$OUT/.." /tmp/elsewhere-$$'],
    ['by mode', 'chmod 777 "$OUT/canary"'],
    ['by owner', 'chown 12345 "$OUT/canary"'],
    ['by times', 'touch -d 2001-01-01 "$OUT/canary"'],
    ['through a symbolic link', 'ln -s "$OUT/canary" link && echo x > link'],
    ['through a link to the folder', 'ln -s "$OUT" dir && echo x > dir/canary'],
    ['through a chain of links', 'ln -s "$OUT" a && ln -s a b && echo x > b/canary'],
    ['through /proc/self/fd', 'exec 7<"$OUT/canary" && echo x > /proc/self/fd/7'],
    ['through /proc/self/root', 'echo x > "/proc/self/root$OUT/canary"'],
    ['through /proc/1/root', 'echo x > "/proc/1/root$OUT/canary"'],
    ['through /proc/self/cwd', 'cd "$OUT" && echo x > /proc/self/cwd/canary'],
    ['through /dev/fd', 'exec 7<"$OUT/canary" && echo x > /dev/fd/7'],
    [
      'with a descriptor opened for reading',
      `python3 -c 'import os;fd=os.open(os.environ["OUT"]+"/canary",os.O_RDONLY);os.open(f"/proc/self/fd/{fd}",os.O_WRONLY)'`,
    ],
    ['in the system', 'echo x > /etc/gatehouse-escape'],
    ['in the devices of the kernel', 'echo 0 > /sys/kernel/mm/ksm/run'],
  ])('cannot be changed %s', async (_, commandLine) => {
    expectRefused(await run(commandLine), /Read-only file system|Device or resource busy/)
  })

  it('the settings of the kernel are not those of the command, even for root', async () => {
    const path = '/proc/sys/kernel/core_pattern'
    const before = readFileSync(path, 'utf8')
    for (const entries of [WORKSPACE_WRITE, undefined])
      expectRefused(await run(`cat ${path} > pattern; cat pattern > ${path}`, { entries }), /Read-only|denied/)
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  it.each([
    ['a hard link to the canary', 'ln "$OUT/canary" hard && echo x > hard', CROSS_DEVICE],
    [
      'a hard link through a descriptor',
      `python3 -c 'import os;fd=os.open(os.environ["OUT"]+"/canary",os.O_RDONLY);os.link(f"/proc/self/fd/{fd}","hard",follow_symlinks=True)'`,
      CROSS_DEVICE,
    ],
  ])('%s cannot be made', async (_, commandLine, words) => {
    const { text, exitCode } = await run(commandLine)
    expect(text).toMatch(words)
    expect(exitCode).not.toBe(0)
    expect(existsSync(join(workspace, 'hard'))).toBe(false)
  })

  it('a hard link that was there before is a file of the workspace, and only the workspace has it writable', async () => {
    linkSync(join(outside, 'canary'), join(workspace, 'twin'))
    expectRefused(await run('echo x > "$OUT/canary"'), READ_ONLY_TEXT)
  })

  it('nothing at all can be changed under read-only', async () => {
    expectRefused(await run('echo x > file', { entries: READ_ONLY }), READ_ONLY_TEXT)
    expectRefused(await run('echo x > /tmp/gatehouse-escape', { entries: READ_ONLY }), READ_ONLY_TEXT)
    expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('mine\n')
  })

  it('E124 what a link in the workspace leads to is not the workspace', async () => {
    writeFileSync(join(base, 'todo.md'), 'secret\n')
    symlinkSync(outside, join(workspace, 'libs'))
    symlinkSync('libs', join(workspace, 'v2'))
    expectRefused(await run('echo x > v2/new.txt'), READ_ONLY_TEXT)
    expectRefused(await run('echo x > libs/canary'), READ_ONLY_TEXT)
  })

  it('E124 an entry for a link that the command could have made itself grants nothing', async () => {
    symlinkSync(outside, join(workspace, 'libs'))
    const entries = [...WORKSPACE_WRITE, entry(join(workspace, 'libs'), 'write')]
    expectRefused(await run('echo x > libs/canary', { entries }), READ_ONLY_TEXT)
  })
})

describe('mounts and namespaces', () => {
  it.each([
    ['binding over a folder', 'mount --bind "$WS" "$OUT"'],
    ['making everything writable again', 'mount -o remount,rw /'],
    ['remounting a protected place', 'mount -o remount,rw,bind "$WS/.git"'],
    ['unmounting a protected place', 'umount "$WS/.git"'],
    ['a new user namespace', 'unshare --user --map-root-user sh -c "mount --bind $WS $OUT"'],
    ['a new mount namespace', 'unshare --mount true'],
    ['a sandbox in the sandbox', 'bwrap --bind / / touch "$OUT/x"'],
    ['another root', 'chroot / true'],
    ['the namespace of another process', 'nsenter --target 1 --mount true'],
    [
      'clone with a new user namespace',
      `python3 -c 'import ctypes,os;l=ctypes.CDLL(None,use_errno=True);r=l.syscall(56,0x10000000|17,0,0,0,0);e=ctypes.get_errno()
if r==0: os._exit(0)
print(os.strerror(e)); exit(r==-1)'`,
    ],
  ])('%s is refused', async (_, commandLine) => {
    expectRefused(await run(commandLine), /not permitted|permission denied|must be superuser|No permissions/i)
  })

  it('a device cannot be made', async () => {
    expectRefused(await run('mknod disk b 254 0'), /not permitted/)
  })

  it('the disk is not there', async () => {
    expect(await run('ls /dev | sort | tr "\\n" " "')).toMatchObject({
      text: 'console core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero '.replace(
        'console ',
        '',
      ),
    })
  })
})

describe('what makes other programs run code', () => {
  it.each([
    ['a hook', 'echo x > .git/hooks/pre-commit'],
    ['the settings of git', 'echo x >> .git/config'],
    ['the folder by renaming it', 'mv .git old', /busy/],
    ['the folder by removing it', 'rm -rf .git', /Read-only|busy/],
  ])('keeps its place against a change of %s', async (_, commandLine, words = READ_ONLY_TEXT) => {
    const { text, exitCode } = await run(commandLine)
    expect(text).toMatch(words)
    expect(exitCode).not.toBe(0)
    expect(readFileSync(join(workspace, '.git/config'), 'utf8')).toBe('[core]\n')
    expect(readdirSync(join(workspace, '.git/hooks'))).toEqual([])
  })

  it('cannot be made where it does not exist, and nothing of the wall is left behind', async () => {
    rmSync(join(workspace, '.git'), { recursive: true })
    expectRefused(await run('git init -q .'), READ_ONLY_TEXT)
    expectRefused(await run('mkdir -p .codex/rules'), READ_ONLY_TEXT)
    expectRefused(await run('mv file .git'), /Read-only|busy|denied/i)
    expectRefused(await run('rmdir .git; ln -s "$OUT" .git; touch .git/x'), /Read-only|busy/)
    // Taken away one turn after the end was told.
    await run('true', { entries: READ_ONLY })
    expect(readdirSync(workspace).sort()).toEqual(['file', 'sub'])
  })

  it('is protected as long as one of several commands runs', async () => {
    rmSync(join(workspace, '.git'), { recursive: true })
    const options = { cwd: toPathUri(workspace), sandbox: sandboxOf({ root: workspace, entries: WORKSPACE_WRITE }) }
    const first = client.run(['/bin/sh', '-c', 'echo up; read x; mkdir .git/hooks'], { ...options, pipeStdin: true })
    await (await first.running()).said('up')
    await run('true')
    await first.write('\n')
    expect((await first.closed()).text()).toMatch(READ_ONLY_TEXT)
  })

  it('a protected name that is a link is refused before anything runs', async () => {
    rmSync(join(workspace, '.git'), { recursive: true })
    mkdirSync(join(workspace, 'elsewhere'))
    symlinkSync('elsewhere', join(workspace, '.git'))
    const started = client.run(['/bin/true'], {
      sandbox: sandboxOf({ root: workspace, entries: WORKSPACE_WRITE }),
      cwd: toPathUri(workspace),
    })
    expect((await started.started).error).toMatchObject({
      message: expect.stringContaining(`${workspace}/.git is a symbolic link`),
      data: { kind: 'sandboxPreparation' },
    })
  })

  it('a folder above a protected place cannot be moved away', async () => {
    const entries = [...WORKSPACE_WRITE, entry(join(workspace, 'sub/kept'), 'read')]
    const { text, exitCode } = await run('mv sub other && mkdir -p sub/kept && echo x > sub/kept/file', { entries })
    expect(text).toMatch(/busy/)
    expect(exitCode).not.toBe(0)
    expect(readFileSync(join(workspace, 'sub/kept/file'), 'utf8')).toBe(CANARY)
    expect((await run('echo new > sub/new && cat sub/new', { entries })).text).toBe('new\n')
  })
})

describe('what must not be read', () => {
  it('a denied folder, a denied file and what a pattern denies are closed', async () => {
    writeFileSync(join(workspace, '.env'), 'KEY=1\n')
    mkdirSync(join(workspace, 'a/b'), { recursive: true })
    writeFileSync(join(workspace, 'a/b/.env'), 'KEY=2\n')
    const entries = [
      ...WORKSPACE_WRITE,
      entry(outside, 'deny'),
      entry(join(workspace, 'file'), 'none'),
      entry({ glob: '**/.env' }, 'deny'),
    ]
    for (const path of ['"$OUT/canary"', 'file', '.env', 'a/b/.env'])
      expectRefused(await run(`cat ${path}`, { entries }), /Permission denied/)
    expectRefused(await run('chmod 700 "$OUT" && ls "$OUT"', { entries }), READ_ONLY_TEXT)
    expectRefused(await run('mv a/b a/c && cat a/c/.env', { entries }), /busy|Permission denied/)
  })

  it('a pattern with too much to look at is refused, not ignored', async () => {
    const entries = [...WORKSPACE_WRITE, entry({ glob: '/**/.env' }, 'deny')]
    const { error } = await client.run(['/bin/true'], { sandbox: sandboxOf({ root: workspace, entries }) }).started
    expect(error).toMatchObject({
      data: { kind: 'sandboxPreparation' },
      message: expect.stringContaining('glob_scan_max_depth'),
    })
  })

  it('without an entry for the root only what was named exists', async () => {
    const entries = [entry({ kind: 'minimal' }, 'read'), entry({ kind: 'project_roots' }, 'write')]
    expect((await run('ls -A "$WS/.."; echo x > new && cat new', { entries })).text).toBe('ws\nx\n')
    const { text } = await run('cat "$OUT/canary"; ls /root /home /var; touch /top', { entries })
    expect(text).not.toContain(CANARY)
    expect(text).toMatch(/canary: No such file/)
    expect(text).toMatch(READ_ONLY_TEXT)
  })

  it('the data folder of the host and the files of this server are closed, even to entries that name them', async () => {
    const dataFolder = join(home, 'home')
    const entries = [...WORKSPACE_WRITE, entry(dataFolder, 'write'), entry(join(dataFolder, 'run'), 'write')]
    for (const shape of [{}, { entries }, { entries: undefined }]) {
      const outcome = await run(`cat ${dataFolder}/run/host.json; ls ${server.tmp}/gatehouse-exec-*`, shape)
      expect(outcome.text).toMatch(/host.json: Permission denied/)
      expect(outcome.text).toMatch(/cannot open directory .*Permission denied/)
      expect(outcome.text).not.toContain('secret-token')
    }
    expect(readFileSync(join(dataFolder, 'run/host.json'), 'utf8')).toContain('secret-token')
  })
})

describe('the network', () => {
  let listener: Server
  let datagrams: Datagrams
  let port: number
  let contacts: number
  let socketPath: string

  beforeEach(async () => {
    contacts = 0
    listener = createServer((socket) => {
      contacts++
      socket.end('hello\n')
    })
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    port = (listener.address() as { port: number }).port
    datagrams = createSocket('udp4', () => contacts++)
    await new Promise<void>((resolve) => datagrams.bind(port, '127.0.0.1', resolve))
    socketPath = join(workspace, 'service.sock')
  })
  afterEach(async () => {
    expect(contacts).toBe(0)
    datagrams.close()
    await new Promise((resolve) => listener.close(resolve))
  })

  const python = (script: string) => `python3 -c '${script}'`

  it.each([
    ['TCP', () => `exec 3<>/dev/tcp/127.0.0.1/${port}`],
    ['UDP', () => `echo x > /dev/udp/127.0.0.1/${port}`],
    [
      'a name server',
      () => python('import socket;socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b"x",("127.0.0.53",53))'),
    ],
    ['IPv6', () => python('import socket;socket.socket(socket.AF_INET6)')],
    ['a raw socket', () => python('import socket;socket.socket(socket.AF_INET,socket.SOCK_RAW,1)')],
    ['a packet socket', () => python('import socket;socket.socket(socket.AF_PACKET,socket.SOCK_RAW)')],
    ['netlink', () => python('import socket;socket.socket(socket.AF_NETLINK,socket.SOCK_RAW)')],
    ['vsock', () => python('import socket;socket.socket(socket.AF_VSOCK,socket.SOCK_STREAM)')],
    [
      'an io_uring',
      () =>
        python(
          'import ctypes,os;l=ctypes.CDLL(None,use_errno=True);r=l.syscall(425,8,ctypes.create_string_buffer(120));print(os.strerror(ctypes.get_errno()));exit(r<0)',
        ),
    ],
  ])('%s is refused', async (_, commandLine) => {
    expectRefused(await run(commandLine()), /not permitted/)
  })

  it('Unix sockets are refused, by path and by abstract name', async () => {
    const services = [socketPath, '\0gatehouse-escape'].map((path) => createServer(() => contacts++).listen(path))
    await Promise.all(
      services.map((service) => service.listening || new Promise((resolve) => service.once('listening', resolve))),
    )
    try {
      for (const name of ['service.sock', '\\0gatehouse-escape'])
        expectRefused(
          await run(python(`import socket;socket.socket(socket.AF_UNIX).connect("${name}")`), {
            entries: WORKSPACE_WRITE,
          }),
          /not permitted/,
        )
    } finally {
      for (const service of services) service.close()
    }
  })

  it('is closed also where files are unrestricted', async () => {
    expectRefused(await run(`exec 3<>/dev/tcp/127.0.0.1/${port}`, { entries: undefined }), /not permitted/)
  })

  it('pairs of sockets, which lead nowhere, work', async () => {
    expect(await run(python('import socket;a,b=socket.socketpair();a.send(b"ok");print(b.recv(9))'))).toMatchObject({
      text: "b'ok'\n",
      exitCode: 0,
    })
  })
})

describe('other processes', () => {
  let bystander: ChildProcess

  beforeEach(() => {
    bystander = spawn('/bin/sleep', ['300'], { stdio: 'ignore' })
  })
  afterEach(() => {
    expect(bystander.exitCode).toBeNull()
    expect(bystander.signalCode).toBeNull()
    bystander.kill('SIGKILL')
  })

  it('cannot be seen, signalled or looked into', async () => {
    const { text } = await run(
      `kill -9 ${bystander.pid}; ls /proc | grep -c '^[0-9]'; cat /proc/${bystander.pid}/environ`,
    )
    expect(text).toMatch(/No such process/)
    expect(text).toMatch(/environ: No such file/)
    expect(Number(/^(\d+)$/m.exec(text)?.[1])).toBeLessThan(10)
  })

  it('their terminals are not open, so that nothing can be typed into them', async () => {
    const terminal = client.run(['/bin/sh', '-c', 'echo up; read line; echo "got $line"'], { tty: true })
    await (await terminal.running()).said('up')
    for (const tty of [false, true]) {
      const process = client.run(
        ['/bin/bash', '-c', 'for fd in /proc/self/fd/*; do readlink $fd; echo typed >&${fd##*/}; done'],
        { tty, cwd: toPathUri(workspace), sandbox: sandboxOf({ root: workspace, entries: READ_ONLY }) },
      )
      expect((await process.closed()).text()).not.toContain('ptmx')
    }
    await terminal.write('mine\n')
    expect((await terminal.closed()).text()).toContain('got mine')
  })

  it('even those inside cannot be traced', async () => {
    const attach = `python3 -c 'import ctypes,os;l=ctypes.CDLL(None,use_errno=True);r=l.ptrace(16,int(os.environ["P"]),0,0);print(os.strerror(ctypes.get_errno()));exit(r<0)'`
    expectRefused(await run(`sleep 5 & P=$! ${attach}; code=$?; kill %1; exit $code`), /not permitted/)
  })

  it('killing everything that can be seen ends the command and nothing else', async () => {
    expect((await run('kill -9 -1; echo still here')).exitCode).toBe(0)
    expect(await client.call('environment/status')).toEqual({ status: 'ready' })
  })

  it('shared memory and message queues of others are not there', async () => {
    expect((await run('ipcs -m | grep -c "^0x"; ls /dev/shm | wc -l')).text).toBe('0\n0\n')
  })

  it('a program of another architecture does not get past the filter', async () => {
    writeFileSync(
      join(workspace, 'x32.c'),
      '#include <unistd.h>\n#include <stdio.h>\nint main(){long r=syscall(0x40000000L+41,2,1,0);perror("x32");return r<0;}\n',
    )
    expectRefused(await run('gcc -o x32 x32.c && ./x32'), /not permitted/)
  })
})

describe('the environment of a command', () => {
  it('is not that of what confines it: a library is loaded into the command only', async () => {
    writeFileSync(
      join(workspace, 'spy.c'),
      '#include <stdlib.h>\n#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void f(void){char p[512];snprintf(p,512,"%s/canary",getenv("OUT"));FILE*o=fopen(p,"w");if(o)fputs("x",o);}\n',
    )
    await run('gcc -shared -fPIC -o spy.so spy.c')
    for (const tty of [false, true]) {
      const process = client.run(['/bin/sh', '-c', 'echo $LD_PRELOAD'], {
        tty,
        cwd: toPathUri(workspace),
        env: { PATH: '/usr/bin:/bin', LD_PRELOAD: join(workspace, 'spy.so'), OUT: outside },
        sandbox: sandboxOf({ root: workspace, entries: WORKSPACE_WRITE }),
      })
      expect((await process.closed()).text().trim()).toBe(join(workspace, 'spy.so'))
    }
  })

  it('does not stand on a command line', async () => {
    const process = client.run(['/bin/sh', '-c', 'echo up; read x'], {
      pipeStdin: true,
      env: { PATH: '/usr/bin:/bin', SECRET: 'in-the-environment' },
      sandbox: sandboxOf({ root: workspace, entries: READ_ONLY }),
    })
    await (await process.running()).said('up')
    const commandLines = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
        } catch {
          return ''
        }
      })
    expect(commandLines.some((line) => line.includes('in-the-environment'))).toBe(false)
    await process.write('\n')
    await process.closed()
    expect(lstatSync(workspace).isDirectory()).toBe(true)
  })
})
