import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createSocket } from 'node:dgram'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { toPathUri } from '../../../protocol/path-uri.ts'
import { entry, READ_ONLY, sandboxOf } from '../../../testing/confined-commands.ts'
import { startExecServerAlone, type ExecServerAlone } from '../../../testing/exec-server-alone.ts'
import { ExecWireClient, type StartOptions, type WireMessage } from '../../../testing/exec-wire-client.ts'
import { isAlive } from '../../../testing/is-alive.ts'

/** Programs that know nothing of a proxy, behind walls whose only way out is one. */

/** Stands for everything outside: whoever is connected is told where to, and then hears what was said. */
let outside: Server
let outsidePort: number
let reached: string[]
let server: ExecServerAlone
let client: ExecWireClient
let base: string

beforeAll(async () => {
  outside = createServer({ allowHalfOpen: true }, (socket) => onceHead(socket, (target) => welcome(socket, target)))
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve))
  outsidePort = (outside.address() as AddressInfo).port
  const proxy = `http://127.0.0.1:${outsidePort}`
  server = await startExecServerAlone({ env: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '', no_proxy: '' } })
})
afterAll(async () => {
  await server.stop()
  outside.close()
})
beforeEach(async () => {
  reached = []
  client = await ExecWireClient.open(server.url)
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-redirection-')))
})
afterEach(() => {
  client.drop()
  rmSync(base, { recursive: true, force: true })
})

/** What a parent proxy is asked with CONNECT, and whether it does it. */
function onceHead(socket: Socket, act: (target: string) => void): void {
  let head = ''
  socket.on('error', () => {})
  const onData = (bytes: Buffer) => {
    head += bytes.toString('latin1')
    if (!head.includes('\r\n\r\n')) return
    socket.off('data', onData)
    act(/^CONNECT (\S+) /.exec(head)?.[1] ?? head)
  }
  socket.on('data', onData)
}

function welcome(socket: Socket, target: string): void {
  reached.push(target)
  if (target.startsWith('closed.test')) return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  socket.write('HTTP/1.1 200 OK\r\n\r\n')
  if (target.endsWith(':8080')) return void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nover http\n')
  socket.write(`hello from ${target}\n`)
  socket.pipe(socket)
}

const DOMAINS = {
  '*.open.test': 'allow',
  'closed.test': 'allow',
  '203.0.113.7': 'allow',
  '2001:db8::7': 'allow',
  '2001:db8::8': 'deny',
  '*.refused.test': 'deny',
}
const SETTINGS = {
  enabled: true,
  enableSocks5: true,
  enableSocks5Udp: false,
  allowUpstreamProxy: true,
  dangerouslyAllowAllUnixSockets: false,
  mode: 'full',
  allowLocalBinding: true,
  domains: DOMAINS,
  transparentTcp: true,
}
/** Behind walls, with a proxy that asks the client about what its domains do not name. */
const walled = (more: StartOptions = {}, proxy: object = {}): StartOptions => ({
  networkProxy: { proxy: { ...SETTINGS, ...proxy }, policyDecisionTimeoutMs: 600_000 },
  sandbox: sandboxOf({ root: base, entries: READ_ONLY, network: 'restricted' }),
  cwd: toPathUri(base),
  ...more,
})
const start = (argv: string[], more?: StartOptions, proxy?: object) => client.run(argv, walled(more, proxy))
const python = (script: string, more?: StartOptions, proxy?: object) =>
  start(['python3', '-u', '-c', `${PRELUDE}\n${script}`], more, proxy)
const textOf = async (process: ReturnType<typeof start>) => (await process.closed()).text().replaceAll('\r', '')
const decisions = () =>
  client.notifications('network/policyDecision').map(({ params }) => ({
    host: params?.host,
    port: params?.port,
    protocol: params?.protocol,
    decision: params?.decision,
  }))
const questions = () => client.messages.filter(({ method }) => method === 'network/policyRequest')
const answer = ({ id }: WireMessage, type: string) =>
  client.send(JSON.stringify({ id, result: { decision: { type, ...(type === 'deny' && { reason: 'no' }) } } }))

/** `talk` waits in connect(2), `atalk` does not. */
const PRELUDE = `import asyncio, os, signal, socket, struct, subprocess, sys, threading, time
def talk(host, port, family=socket.AF_INET):
    s = socket.socket(family)
    try:
        s.connect((host, port))
        f = s.makefile('rwb')
        heard = f.readline().decode().strip()
        f.write(b'echo\\n'); f.flush()
        return heard + ' ' + f.readline().decode().strip()
    except OSError as e:
        return type(e).__name__ + ' ' + e.strerror
    finally:
        s.close()
async def atalk(host, port):
    try:
        r, w = await asyncio.open_connection(host, port)
        heard = (await r.readline()).decode().strip()
        w.write(b'echo\\n')
        echoed = (await r.readline()).decode().strip()
        w.close()
        return heard + ' ' + echoed
    except OSError as e:
        return type(e).__name__
def gather(*jobs):
    async def all(): return await asyncio.gather(*jobs)
    return asyncio.run(all())
`

it('is announced', async () => {
  expect((await client.call('environment/info')).capabilities).toMatchObject({ networkProxyTransparentTcp: true })
})

describe('a program that waits in connect(2)', () => {
  it('gets there by name and by address, and is judged by what it asked for', async () => {
    const script = `print(talk('a.open.test', 80)); print(talk('203.0.113.7', 4433)); print(talk('2001:db8::7', 22, socket.AF_INET6))
print(talk('::ffff:203.0.113.7', 80, socket.AF_INET6))`
    expect(await textOf(python(script))).toBe(
      'hello from a.open.test:80 echo\nhello from 203.0.113.7:4433 echo\nhello from [2001:db8::7]:22 echo\nhello from 203.0.113.7:80 echo\n',
    )
    expect(reached).toEqual(['a.open.test:80', '203.0.113.7:4433', '[2001:db8::7]:22', '203.0.113.7:80'])
    expect(decisions()[0]).toEqual({ host: 'a.open.test', port: 80, protocol: 'socks5_tcp', decision: 'allow' })
  })

  it('hears what the rules refuse, and what nobody answers, as the error of its call', async () => {
    const script = `print(talk('x.refused.test', 80)); print(talk('closed.test', 80)); print(talk('203.0.113.7', 80))`
    expect(await textOf(python(script))).toMatch(
      /^PermissionError Permission denied\n\w+Error .*\nhello from 203\.0\.113\.7:80 echo\n$/,
    )
    expect(reached).toEqual(['closed.test:80', '203.0.113.7:80'])
  })

  it('waits as long as somebody is asked, and goes on with the same connection', async () => {
    const process = python(`print('up'); print(talk('asked.test', 80))`)
    await client.until(() => questions().length === 1)
    expect(questions()[0]?.params).toMatchObject({ request: { protocol: 'socks5_tcp', host: 'asked.test', port: 80 } })
    expect(process.text()).toBe('up\n')
    answer(questions()[0] as WireMessage, 'allow')
    expect(await textOf(process)).toBe('up\nhello from asked.test:80 echo\n')
    expect(questions()).toHaveLength(1)
  })

  it('is not kept waiting by others who are', async () => {
    const script = `def later(host): sys.stdout.write(talk(host, 80) + '\\n')
threads = [threading.Thread(target=later, args=(host,)) for host in ('one.test', 'two.test')]
for t in threads: t.start()
print(sys.stdin.readline().strip()); print(talk('a.open.test', 1)); print(gather(atalk('b.open.test', 2)))
for t in threads: t.join()`
    const process = python(script, { pipeStdin: true })
    await client.until(() => questions().length === 2)
    await process.write('go\n')
    await process.said("['hello from b.open.test:2 echo']\n")
    expect(process.text()).toBe("go\nhello from a.open.test:1 echo\n['hello from b.open.test:2 echo']\n")
    for (const question of questions()) answer(question, 'deny')
    expect(await textOf(process)).toMatch(/(PermissionError Permission denied\n){2}$/)
    expect(reached).toEqual(['a.open.test:1', 'b.open.test:2'])
  })

  it('may be interrupted by signals as often as they come', async () => {
    const script = `signal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
print({talk('203.0.113.7', 80) for _ in range(100)})`
    expect(await textOf(python(script))).toBe("{'hello from 203.0.113.7:80 echo'}\n")
  })
})

describe('a program that does not wait', () => {
  it('gets there by name and by address', async () => {
    const script = `print(*gather(atalk('a.open.test', 80), atalk('203.0.113.7', 4433), atalk('2001:db8::7', 22)), sep='\\n')`
    expect(await textOf(python(script))).toBe(
      'hello from a.open.test:80 echo\nhello from 203.0.113.7:4433 echo\nhello from [2001:db8::7]:22 echo\n',
    )
    expect(reached.toSorted()).toEqual(['203.0.113.7:4433', '[2001:db8::7]:22', 'a.open.test:80'])
  })

  it('is refused when the rules refuse, and when nobody answers', async () => {
    const script = `print(gather(atalk('x.refused.test', 80), atalk('2001:db8::8', 80), atalk('closed.test', 80)))
s = socket.socket(); s.settimeout(60)
try: s.connect(('x.refused.test', 80))
except OSError as e: print(type(e).__name__)`
    const refused = `'ConnectionRefusedError'`
    expect(await textOf(python(script))).toBe(`[${refused}, ${refused}, ${refused}]\nConnectionRefusedError\n`)
    expect(reached).toEqual(['closed.test:80'])
  })

  it('may be interrupted by signals as often as they come', async () => {
    const script = `signal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def once():
    s = socket.socket(); s.setblocking(False); first = s.connect_ex(('203.0.113.7', 80))
    s.settimeout(60); s.sendall(b'x\\n'); return first in (0, 115), s.makefile().readline()
print({once() for _ in range(100)})`
    expect(await textOf(python(script))).toBe("{(True, 'hello from 203.0.113.7:80\\n')}\n")
  })

  it('is connecting as long as somebody is asked, and goes on with the same connection', async () => {
    const script = `async def main():
    job = asyncio.ensure_future(atalk('asked.test', 80)); print(await atalk('a.open.test', 80))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline); print(job.done()); print(await job)
asyncio.run(main())`
    const process = python(script, { pipeStdin: true })
    await process.said('echo\n')
    await client.until(() => questions().length === 1)
    await process.write('\n')
    await process.said('False\n')
    answer(questions()[0] as WireMessage, 'allow')
    expect(await textOf(process)).toBe('hello from a.open.test:80 echo\nFalse\nhello from asked.test:80 echo\n')
    expect(questions()).toHaveLength(1)
  })

  it('reaches as many as it likes at once', async () => {
    const script = `from collections import Counter
heard = gather(*(atalk(f'n{i}.open.test', 80) for i in range(50)), *(atalk('203.0.113.7', 80) for _ in range(50)), *(atalk('x.refused.test', 80) for _ in range(50)))
print(sum(h == f'hello from n{i}.open.test:80 echo' for i, h in enumerate(heard[:50])), *Counter(heard[50:]).items())
done = []
def one(i): done.append(talk(f't{i}.open.test', 80) == f'hello from t{i}.open.test:80 echo')
threads = [threading.Thread(target=one, args=(i,)) for i in range(60)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(done))`
    expect(await textOf(python(script))).toBe(
      "50 ('hello from 203.0.113.7:80 echo', 50) ('ConnectionRefusedError', 50)\n60\n",
    )
    expect(new Set(reached).size).toBe(111)
  })
})

it('connections of one source port are told apart by where they lead', async () => {
  const script = `hosts = [socket.gethostbyname(f'{n}.open.test') for n in 'abcd'] + ['203.0.113.7']
def bound(port, timeout):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('', port)); s.settimeout(timeout); return s
for timeout in (None, 60):
    first = bound(0, timeout); port = first.getsockname()[1]
    all = [first] + [bound(port, timeout) for _ in hosts[1:]]
    threads = [threading.Thread(target=s.connect, args=((host, 80),)) for s, host in zip(all, hosts)]
    for t in threads: t.start()
    for t in threads: t.join()
    print({s.getsockname()[1] == port for s in all}, *(s.makefile().readline().split()[-1] for s in all))`
  const line = '{True} a.open.test:80 b.open.test:80 c.open.test:80 d.open.test:80 203.0.113.7:80\n'
  expect(await textOf(python(script))).toBe(line + line)
})

it.each([
  ['waits', ''],
  ['does not wait', ', timeout=60'],
])('much goes both ways for a program that %s, and either side may be done first', async (_, more) => {
  const script = `s = socket.create_connection(('a.open.test', 80)${more}); f = s.makefile('rb'); f.readline()
data = os.urandom(1 << 20) * 8
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
print(f.read() == data)`
  expect(await textOf(python(script))).toBe('True\n')
})

describe('names', () => {
  it('are answered wherever they are asked for, over UDP and TCP', async () => {
    const script = `def query(name, kind): return struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + b''.join(bytes([len(l)]) + l.encode() for l in name.split('.')) + b'\\0' + struct.pack('>HH', kind, 1)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for server in ('9.9.9.9', '127.0.0.53', '127.0.0.1'):
    u.sendto(query('a.open.test', 1), (server, 53)); text, source = u.recvfrom(999); print(source, socket.inet_ntoa(text[-4:]))
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); six.connect(('2001:db8::53', 53)); six.send(query('a.open.test', 1)); print(socket.inet_ntoa(six.recv(999)[-4:]))
u.sendto(query('a.open.test', 28), ('9.9.9.9', 53)); print(struct.unpack('>HHHHHH', u.recv(999)[:12]))
t = socket.create_connection(('9.9.9.9', 53)); q = query('b.open.test', 1); t.sendall((struct.pack('>H', len(q)) + q) * 2)
f = t.makefile('rb')
for _ in range(2): print(socket.inet_ntoa(f.read(struct.unpack('>H', f.read(2))[0])[-4:]))
print(talk('198.18.0.3', 80))`
    expect(await textOf(python(script))).toBe(
      [
        "('9.9.9.9', 53) 198.18.0.2",
        "('127.0.0.53', 53) 198.18.0.2",
        "('127.0.0.1', 53) 198.18.0.2",
        '198.18.0.2',
        '(7, 33152, 1, 0, 0, 0)',
        '198.18.0.3',
        '198.18.0.3',
        'hello from b.open.test:80 echo',
        '',
      ].join('\n'),
    )
    expect(reached).toEqual(['b.open.test:80'])
  })

  it('are looked up as they were written, with and without a file that says how', async () => {
    const script = `print(socket.getaddrinfo('short', 80, socket.AF_INET, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)[0][4]); print(talk('a.open.test', 80))`
    const heard = "('198.18.0.2', 80)\nhello from a.open.test:80 echo\n"
    expect(await textOf(python(`print(open('/etc/resolv.conf').read(), end=''); ${script}`))).toBe(
      `nameserver 127.0.0.1\nsearch .\n${heard}`,
    )
    const parts = ['/usr', '/lib', '/lib64', '/bin', base].map((path) => entry(path, 'read', true))
    const bare = sandboxOf({ root: base, entries: parts, network: 'restricted' })
    expect(await textOf(python(`print(os.path.exists('/etc/hosts')); ${script}`, { sandbox: bare }))).toBe(
      `False\n${heard}`,
    )
    const hidden = [...READ_ONLY, entry('/etc/resolv.conf', 'deny')]
    const without = sandboxOf({ root: base, entries: hidden, network: 'restricted' })
    expect(await textOf(python(script, { sandbox: without }))).toBe(heard)
  })

  it('are carried, and no other datagram is', async () => {
    const script = `u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(('203.0.113.7', 4433)); u.send(b'quic')
try: u.recv(10)
except OSError as e: print(type(e).__name__)`
    expect(await textOf(python(script))).toBe('ConnectionRefusedError\n')
  })

  it.each([
    ['curl', `curl -sS --noproxy '*' http://a.open.test:8080/`, 'over http\n'],
    ['bash', 'read -r line < /dev/tcp/a.open.test/80; echo "$line"', 'hello from a.open.test:80\n'],
    [
      'Node',
      `${process.execPath} -e 'require("net").connect(80, "a.open.test").once("data", (d) => { process.stdout.write(d); process.exit() })'`,
      'hello from a.open.test:80\n',
    ],
    [
      'Java',
      `printf 'class A{public static void main(String[] a)throws Exception{var s=new java.net.Socket("a.open.test",80);System.out.println(new java.io.BufferedReader(new java.io.InputStreamReader(s.getInputStream())).readLine());}}' > A.java && env -u JAVA_TOOL_OPTIONS java A.java`,
      'hello from a.open.test:80\n',
    ],
  ])('%s finds its way', async (name, commandLine, text) => {
    const there = readdirSync('/usr/bin').includes(name.toLowerCase()) || name === 'Node'
    if (!there) return
    const sandbox = sandboxOf({ root: base, entries: [...READ_ONLY, entry(base, 'write')], network: 'restricted' })
    expect(await textOf(start(['bash', '-c', commandLine], { sandbox }))).toBe(text)
  })
})

describe('the command itself', () => {
  it('finds its own loopback as it was', async () => {
    const script = `l = socket.create_server(('127.0.0.1', 0)); port = l.getsockname()[1]
s = socket.create_connection(('127.0.0.1', port)); a, peer = l.accept()
print(s.getpeername() == ('127.0.0.1', port), peer == s.getsockname(), talk('127.0.0.1', 1))
n = socket.socket(); n.setblocking(False); print(n.connect_ex(('127.0.0.1', port)) in (0, 115))
six = socket.create_server(('::1', 0), family=socket.AF_INET6); print(socket.create_connection(six.getsockname()[:2]).getpeername()[0])
any = socket.create_server(('', 0)); print(talk('localhost', 2), socket.create_connection(('0.0.0.0', any.getsockname()[1])).getpeername()[0])
a, b = socket.socketpair(); a.send(b'pair'); print(b.recv(9))`
    expect(await textOf(python(script))).toBe(
      "True True ConnectionRefusedError Connection refused\nTrue\n::1\nConnectionRefusedError Connection refused 127.0.0.1\nb'pair'\n",
    )
    expect(reached).toEqual([])
  })

  it('sees where it went, through a port of the namespace', async () => {
    const script = `s = socket.create_connection(('203.0.113.7', 80)); print(s.getpeername()[0], s.getsockname()[0])
print(socket.create_connection(('127.0.0.1', s.getpeername()[1])).recv(1))`
    expect(await textOf(python(script))).toBe("203.0.113.7 198.18.0.1\nb''\n")
  })

  it.each([
    ['on pipes', false],
    ['on a terminal', true],
  ])('%s runs as without it', async (_, tty) => {
    // Name, place, parents, group, session, terminal, signals that are blocked or ignored, open files, rights.
    const script = `tr '\\0' ' ' < /proc/self/cmdline; echo; pwd; cut -d' ' -f3-6,8 /proc/self/stat
grep -E '^(Sig(Blk|Ign)|Shd|NoNewPrivs|Cap|Uid|Groups)' /proc/self/status; ls /proc/self/fd; ulimit -n; umask
env | grep -v -E 'PROXY|proxy|JAVA|GIT_SSH|TRANSPARENT' | sort`
    const looks = async (proxy: object) =>
      textOf(
        start(['/bin/bash', '-c', script], { tty, env: { PATH: '/usr/bin:/bin', MINE: '1' }, arg0: 'other' }, proxy),
      )
    const plain = await looks({ transparentTcp: false })
    expect(plain).toContain('MINE=1')
    expect(await looks({})).toBe(plain)
  })

  it.each([
    ['on pipes', false],
    ['on a terminal', true],
  ])('%s ends as it ends, and hears signals', async (_, tty) => {
    const ended = async (script: string) => {
      const process = start(['/bin/bash', '-c', script], { tty })
      await process.closed()
      return process.exitCode
    }
    expect(await ended('exit 7')).toBe(7)
    expect(await ended('kill -TERM $$')).toBe(143)
    const process = start(['/bin/bash', '-c', 'trap "exit 9" INT; echo up; while :; do sleep 0.1; done'], { tty })
    await process.said('up')
    await process.interrupt()
    expect((await process.closed()).exitCode).toBe(9)
  })

  it('on a terminal talks to the outside', async () => {
    expect(await textOf(python(`print(os.isatty(0), talk('a.open.test', 80))`, { tty: true }))).toBe(
      'True hello from a.open.test:80 echo\n',
    )
  })

  it('has children that are led the same way, also those that leave its group', async () => {
    const script = `p = subprocess.Popen([sys.executable, '-c', 'import socket; print(socket.create_connection(("a.open.test", 80)).makefile().readline())'], start_new_session=True, stdout=subprocess.PIPE)
print(p.communicate()[0])`
    expect(await textOf(python(script))).toBe("b'hello from a.open.test:80\\n\\n'\n")
  })

  it('is stopped whole, in the middle of connecting', async () => {
    const mark = `GATEHOUSE_TEST_MARK=${base}`
    const script = `setsid python3 -c 'import socket; socket.create_connection(("one.test", 80))' & python3 -c 'import socket; socket.create_connection(("two.test", 80))' & echo up; wait`
    const process = start(['bash', '-c', script], { env: { PATH: '/usr/bin:/bin', GATEHOUSE_TEST_MARK: base } })
    await client.until(() => questions().length === 2)
    const inside = pidsWith(mark)
    expect(inside.length).toBeGreaterThanOrEqual(3)
    await process.terminate()
    expect((await process.closed()).exitCode).toBe(137)
    await expect.poll(() => inside.filter(isAlive)).toEqual([])
    await expect.poll(() => redirectorsOf(server.pid)).toEqual([])
    expect(reached).toEqual([])
  })

  it('has no network at all when the redirector is gone', async () => {
    const process = python(`print(talk('a.open.test', 80)); sys.stdin.readline(); print(talk('203.0.113.7', 80))`, {
      pipeStdin: true,
    })
    await process.said('echo\n')
    const [redirector] = redirectorsOf(server.pid)
    globalThis.process.kill(redirector as number, 'SIGKILL')
    await expect.poll(() => redirectorsOf(server.pid)).toEqual([])
    await process.write('\n')
    expect(await textOf(process)).toBe('hello from a.open.test:80 echo\nOSError Function not implemented\n')
    expect(reached).toEqual(['a.open.test:80'])
  })
})

describe('a client with a proxy of its own', () => {
  let proxy: Server
  let asked: string[]
  /** Those that were held and have left. */
  let gone: string[]

  beforeEach(async () => {
    asked = []
    gone = []
    proxy = createServer((socket) => serveSocks(socket, asked, gone))
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => void proxy.close())
  const managed = (env: Record<string, string>, more: object = {}): StartOptions => ({
    sandbox: sandboxOf({ root: base, entries: READ_ONLY, network: 'enabled' }),
    enforceManagedNetwork: true,
    managedNetwork: { transparentTcp: true },
    cwd: toPathUri(base),
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', ...env },
    ...more,
  })
  const url = (scheme: string) => `${scheme}://lease:x%21@127.0.0.1:${(proxy.address() as AddressInfo).port}`

  it.each(['socks5h', 'socks5'])('is asked by name and with its user, as %s', async (scheme) => {
    const script = `${PRELUDE}\nprint(talk('a.test', 80)); print(talk('1.2.3.4', 81)); print(talk('2001:db8::1', 82, socket.AF_INET6))`
    const process = client.run(['python3', '-c', script], managed({ ALL_PROXY: url(scheme) }))
    expect((await process.closed()).text()).toBe(
      'hello from a.test:80 echo\nhello from 1.2.3.4:81 echo\nhello from 2001:db8:0:0:0:0:0:1:82 echo\n',
    )
    expect(asked).toEqual(['lease x! a.test:80', 'lease x! 1.2.3.4:81', 'lease x! 2001:db8:0:0:0:0:0:1:82'])
  })

  it.each([
    [1, 'ConnectionRefusedError Connection refused'],
    [2, 'PermissionError Permission denied'],
    [3, 'OSError Network is unreachable'],
    [4, 'OSError No route to host'],
    [5, 'ConnectionRefusedError Connection refused'],
    [6, 'TimeoutError Connection timed out'],
  ])('that answers %i is understood', async (code, words) => {
    const script = `${PRELUDE}\nprint(talk('code${code}.test', 80))`
    const process = client.run(['python3', '-c', script], managed({ ALL_PROXY: url('socks5h') }))
    expect((await process.closed()).text()).toBe(`${words}\n`)
  })

  it.each([
    ['waits', `socket.create_connection(('held.test', 80))`],
    ['does not wait', `asyncio.run(asyncio.open_connection('held.test', 80)); time.sleep(1000)`],
  ])('hears when a program that %s has gone, and nobody need be asked any more', async (_, held) => {
    const script = `${PRELUDE}
child = os.fork()
if child == 0:
    ${held.replaceAll('\n', '\n    ')}
sys.stdin.readline(); os.kill(child, 9); os.wait(); print('killed', flush=True); sys.stdin.readline()
print(talk('a.test', 80))`
    const process = client.run(['python3', '-c', script], managed({ ALL_PROXY: url('socks5h') }, { pipeStdin: true }))
    await expect.poll(() => asked).toEqual(['lease x! held.test:80'])
    expect(gone).toEqual([])
    await process.write('\n')
    await process.said('killed')
    await expect.poll(() => gone).toEqual(['held.test:80'])
    await process.write('\n')
    expect((await process.closed()).text()).toBe('killed\nhello from a.test:80 echo\n')
  })

  it('needs SOCKS, and is refused by name without', async () => {
    const { error } = await client.run(['true'], managed({ HTTP_PROXY: url('http') })).started
    expect(error).toMatchObject({
      data: { kind: 'sandboxUnavailable' },
      message: expect.stringMatching(
        /^managedNetwork\.transparentTcp: .* SOCKS.*leave managedNetwork\.transparentTcp out$/,
      ),
    })
  })

  it.each([
    ['walls', { sandbox: undefined }],
    ['a network that is closed', { sandbox: sandboxOf({ root: '/', entries: READ_ONLY, network: 'restricted' }) }],
    ['the network of the machine', {}],
  ])('is refused for %s without a proxy as the only way out', async (_, more) => {
    const options = managed({ ALL_PROXY: url('socks5h') }, { ...more, enforceManagedNetwork: false })
    expect((await client.run(['true'], options).started).error).toMatchObject({
      data: { kind: 'sandboxUnavailable' },
      message: expect.stringMatching(/^managedNetwork\.transparentTcp: .*leave it out$/),
    })
  })
})

it('opens nothing of this machine: neither its ports nor its sockets, no datagram, no packet', async () => {
  const heard: string[] = []
  const listener = createServer((socket) => {
    heard.push('stream')
    socket.destroy()
  })
  await new Promise<void>((resolve) => listener.listen(0, '0.0.0.0', resolve))
  onTestFinished(() => void listener.close())
  const { port } = listener.address() as AddressInfo
  const datagrams = createSocket('udp4').on('message', (bytes) => heard.push(bytes.toString()))
  await new Promise<void>((resolve) => datagrams.bind(port, '0.0.0.0', resolve))
  onTestFinished(() => void datagrams.close())
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const addresses = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address)
  const script = `import errno
hosts = ${JSON.stringify([...addresses, '0.0.0.0', '169.254.169.254', '10.0.0.1', 'localhost'])}
print({talk(host, ${port}).split()[0] for host in hosts} <= {'PermissionError', 'ConnectionRefusedError'})
print(set(gather(*(atalk(host, ${port}) for host in hosts))))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for host in hosts: u.sendto(b'out', (host, ${port}))
def attempt(*how):
    try: return socket.socket(*how)
    except OSError as e: return errno.errorcode[e.errno]
print(attempt(socket.AF_UNIX), attempt(socket.AF_INET, socket.SOCK_RAW, 6), attempt(socket.AF_PACKET, socket.SOCK_RAW))
print(sorted(open('/proc/net/dev').read().split()[i] for i, w in enumerate(open('/proc/net/dev').read().split()) if w.endswith(':')))`
  const guarded = { allowLocalBinding: false, allowUpstreamProxy: false, domains: { '*.test': 'allow' } }
  const options = { networkProxy: { proxy: { ...SETTINGS, ...guarded } } }
  expect(await textOf(python(script, options))).toBe("True\n{'ConnectionRefusedError'}\nEPERM EPERM EPERM\n['lo:']\n")
  expect(heard).toEqual([])
  // The canaries hear what comes from outside of the walls.
  const free = `echo free > /dev/udp/127.0.0.1/${port}; cat < /dev/tcp/127.0.0.1/${port}`
  await client.run(['bash', '-c', free]).closed()
  await expect.poll(() => heard.toSorted()).toEqual(['free\n', 'stream'])
})

it('a proxy without SOCKS is refused, naming the field', async () => {
  expect((await start(['true'], {}, { enableSocks5: false }).started).error).toMatchObject({
    code: -32602,
    data: { field: 'networkProxy.proxy.transparentTcp' },
    message: expect.stringContaining('enableSocks5'),
  })
})

describe('where connections cannot be redirected', () => {
  it.each([
    ['fails', 'echo "no such luck" >&2; exit 1', /no such luck/],
    [
      'cannot report',
      'case "$*" in *"reported"*) echo "no notices here" >&2; exit 1;; esac; exec /usr/bin/perl "$@"',
      /no notices here/,
    ],
  ])('because perl %s, nothing runs and the reason is told', async (_, script, reason) => {
    const bin = join(base, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'perl'), `#!/bin/sh\n${script.replace('reported', 'cannot be redirected')}\n`, {
      mode: 0o755,
    })
    for (const name of ['bwrap', 'nsenter']) symlinkSync(`/usr/bin/${name}`, join(bin, name))
    const poor = await startExecServerAlone({ env: { PATH: bin } })
    onTestFinished(() => poor.stop())
    const other = await ExecWireClient.open(poor.url)
    onTestFinished(() => other.drop())
    const { error } = await other.run(['/usr/bin/touch', join(base, 'RAN')], walled()).started
    expect(error).toMatchObject({ data: { kind: 'sandboxUnavailable' }, message: expect.stringMatching(reason) })
    expect(error?.message).toMatch(
      /^networkProxy\.proxy\.transparentTcp: .*; leave networkProxy\.proxy\.transparentTcp out/,
    )
    expect(readdirSync(base)).toEqual(['bin'])
  })
})

/** SOCKS5 with a user; a host `codeN.test` is answered with N, `held.test` never. */
function serveSocks(socket: Socket, asked: string[], gone: string[]): void {
  let received = Buffer.alloc(0)
  let step = 0
  let user = ''
  const bytes = (count: number) => {
    const taken = received.subarray(0, count)
    received = received.subarray(count)
    return taken
  }
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    if (step === 0) {
      bytes(2 + (received[1] ?? 0))
      socket.write(Buffer.from([5, 2]))
    } else if (step === 1) {
      const name = bytes(2 + (received[1] ?? 0)).toString('latin1', 2)
      user = `${name} ${bytes(1 + (received[0] ?? 0)).toString('latin1', 1)}`
      socket.write(Buffer.from([1, 0]))
    } else if (step === 2) {
      const kind = bytes(4)[3]
      const raw = kind === 3 ? bytes(1 + (received[0] ?? 0)).subarray(1) : bytes(kind === 1 ? 4 : 16)
      const groups = Array.from({ length: 8 }, (_, i) => (kind === 4 ? raw.readUInt16BE(i * 2).toString(16) : ''))
      const host = kind === 3 ? raw.toString('latin1') : kind === 1 ? raw.join('.') : groups.join(':')
      const target = `${host}:${bytes(2).readUInt16BE()}`
      asked.push(`${user} ${target}`)
      if (host === 'held.test') return void socket.once('close', () => gone.push(target))
      const code = Number(/^code(\d)/.exec(host)?.[1] ?? 0)
      socket.write(Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]))
      if (code !== 0) return void socket.end()
      socket.write(`hello from ${target}\n`)
    } else socket.write(bytes(received.length))
    step++
  })
}

/** Processes that were started with this entry in their environment. */
function pidsWith(environmentEntry: string): number[] {
  return pids().filter((pid) => fileOf(pid, 'environ').split('\0').includes(environmentEntry))
}

/** Those that keep a namespace for a server's commands and redirect what happens in it. */
function redirectorsOf(serverPid: number): number[] {
  return pids().filter((pid) => {
    const stat = fileOf(pid, 'stat')
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    return parent === serverPid && fileOf(pid, 'cmdline').includes('gatehouse-redirector')
  })
}

const pids = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)

function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
