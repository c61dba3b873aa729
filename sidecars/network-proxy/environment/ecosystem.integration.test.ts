/** Ordinary tools with nothing but the variables of a lease: through the proxy, refused, inspected. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { leaseGranted, type NetworkRule } from '../../protocol/host-channel.ts'
import { launchSidecar, type LaunchedSidecar } from '../../testing/launched-sidecar.ts'
import { toPem } from '../certificates/pem.ts'
import { ORIGIN_AUTHORITY, originCertificate } from '../test-kit/tls-origins.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ecosystem-'))
const caFile = join(folder, 'origin-ca.pem')
const REASON = /deliberate|Blocked by Gatehouse policy/

interface Place {
  /** Whatever may pass. */
  open: string
  /** A host that nothing allows. */
  closed: string
}
/** Base URLs by way of connecting. */
let places: { plain: Place; tunnel: Place; inspected: Place }
let environments: { relaying: NodeJS.ProcessEnv; inspecting: NodeJS.ProcessEnv }
let portOfOrigin = { http: 0, https: 0 }
const sidecars: LaunchedSidecar[] = []
const servers: Server[] = []

const serve: RequestListener = (request, response) => {
  const path = new URL(request.url ?? '/', 'http://x').pathname.replace(/^\/open/, '')
  const json = (value: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
  if (path === '/hello') return response.end('hello from the origin\n')
  if (path === '/demo')
    return json({
      name: 'demo',
      'dist-tags': { latest: '1.2.3' },
      versions: { '1.2.3': { name: 'demo', version: '1.2.3', dist: { tarball: 'x' } } },
    })
  if (path === '/simple/demo/')
    return response
      .setHeader('content-type', 'text/html')
      .end('<a href="demo-1.2.3-py3-none-any.whl">demo-1.2.3-py3-none-any.whl</a>')
  if (path === '/index/config.json') return json({ dl: 'http://unused', api: `${origin(request.socket)}/open` })
  if (path === '/api/v1/crates')
    return json({ crates: [{ name: 'demo', max_version: '1.2.3', description: 'found' }], meta: { total: 1 } })
  if (path.startsWith('/repo.git/')) {
    try {
      return response.end(readFileSync(join(folder, path)))
    } catch {
      // A file that git only looks for.
    }
  }
  response.statusCode = 404
  response.end('not here\n')
}

function origin(socket: object): string {
  return 'encrypted' in socket ? `https://localhost:${portOfOrigin.https}` : `http://localhost:${portOfOrigin.http}`
}

async function listen(server: Server): Promise<number> {
  servers.push(server)
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => socket.on('message', (text) => socket.send(`echo ${String(text)}`)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function lease(mitm: unknown, inspectHttps: boolean, name: string): Promise<NodeJS.ProcessEnv> {
  const runDir = join(folder, name)
  mkdirSync(runDir, { mode: 0o700 })
  const rules = [{ id: 'rul_1', pattern: 'localhost', verdict: 'allow', scope: 'always' }] as unknown as NetworkRule[]
  const address = { host: '127.0.0.1', port: 0 }
  const ownerFile = { path: '/network.toml', text: JSON.stringify({ mitm }) }
  const config = {
    http: address,
    socks: address,
    unknownHost: 'block',
    rules,
    ownerFile,
    inspectHttps,
    environment: { SSL_CERT_FILE: caFile },
  }
  const sidecar = await launchSidecar('network-proxy', { dataDir: folder, runDir, config }, (host) =>
    host.onNotification(
      'connections/changed',
      (value) => value,
      () => {},
    ),
  )
  sidecars.push(sidecar)
  const params = { leaseId: 'lea_1', sessionId: 'ses_1', command: 'tool' }
  const { environment } = await sidecar.host.request('leases/grant', params, leaseGranted)
  const { PATH, RUSTUP_HOME } = process.env
  return { PATH, HOME: join(folder, 'home'), RUSTUP_HOME, ...environment }
}

beforeAll(async () => {
  mkdirSync(join(folder, 'home'))
  writeFileSync(caFile, toPem('CERTIFICATE', ORIGIN_AUTHORITY.certificate))
  makeRepository()
  portOfOrigin = {
    http: await listen(createHttpServer(serve)),
    https: await listen(createHttpsServer(originCertificate('localhost'), serve)),
  }
  const { http, https } = portOfOrigin
  places = {
    plain: { open: `http://localhost:${http}/open`, closed: `http://denied.invalid:${http}/open` },
    tunnel: { open: `https://localhost:${https}/open`, closed: `https://denied.invalid:${https}/open` },
    // The host is allowed; the hook is what refuses.
    inspected: { open: `https://localhost:${https}/open`, closed: `https://localhost:${https}/closed` },
  }
  const hook = { host: 'localhost', methods: ['GET', 'HEAD', 'POST'], path_prefixes: ['/open'], action: ['nothing'] }
  const trust = {
    SSL_CERT_FILE: caFile,
    CURL_CA_BUNDLE: caFile,
    GIT_SSL_CAINFO: caFile,
    NODE_EXTRA_CA_CERTS: caFile,
    PIP_CERT: caFile,
    REQUESTS_CA_BUNDLE: caFile,
    npm_config_cafile: caFile,
    CARGO_HTTP_CAINFO: caFile,
  }
  environments = {
    relaying: { ...(await lease(undefined, false, 'relaying')), ...trust },
    inspecting: await lease({ version: 2, hooks: { all: hook }, actions: { nothing: {} } }, true, 'inspecting'),
  }
}, 60_000)

afterAll(async () => {
  await Promise.all(sidecars.map((sidecar) => sidecar.shutdown()))
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})

function makeRepository(): void {
  const work = join(folder, 'work')
  const git = (...argv: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.test', ...argv], { cwd: work })
  mkdirSync(work)
  git('init', '-q', '-b', 'main')
  writeFileSync(join(work, 'file'), 'contents\n')
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  execFileSync('git', ['clone', '-q', '--bare', work, join(folder, 'repo.git')])
  execFileSync('git', ['update-server-info'], { cwd: join(folder, 'repo.git') })
}

interface Tool {
  name: string
  argv(base: string): string[]
  /** In the output when all went well. */
  shows: RegExp
  /** Ways in which the tool prints nothing of what a proxy says. */
  silent?: (keyof typeof places)[]
  /** Ways that it does not have, and why. */
  cannot?: Partial<Record<keyof typeof places, string>>
}

const UNDICI = JSON.stringify(join(process.cwd(), 'node_modules/undici'))
const PYTHON = (body: string) => ['python3', '-c', body]
const NODE = (body: string) => [process.execPath, '-e', body]
/** A WebSocket client as applications build one: a tunnel through the proxy of the environment, TLS, `ws`. */
const WEBSOCKET = (url: string) => `
  const { WebSocket } = require(${JSON.stringify(join(process.cwd(), 'node_modules/ws'))}), http = require('http'), tls = require('tls')
  const target = new URL(${JSON.stringify(url)}), secure = target.protocol === 'https:', proxy = new URL(secure ? process.env.WSS_PROXY : process.env.WS_PROXY)
  http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: target.host, headers: { host: target.host } })
    .on('connect', (response, socket) => {
      if (response.statusCode !== 200) { console.log(response.statusCode, response.statusMessage); process.exit(1) }
      const client = new WebSocket(target.href.replace(/^http/, 'ws'), { createConnection: () => secure ? tls.connect({ socket, servername: target.hostname, ALPNProtocols: ['http/1.1'] }) : socket })
      client.on('open', () => client.send('hi')).on('message', (text) => { console.log(String(text)); process.exit(0) })
      client.on('unexpected-response', (_request, answer) => { answer.on('data', (part) => console.log(String(part))).on('end', () => process.exit(1)) })
      client.on('error', (error) => { console.log(error.message); process.exit(1) })
    }).end()`

const TOOLS: Tool[] = [
  {
    name: 'curl',
    argv: (base) => ['curl', '-sS', '-m', '20', '--fail-with-body', `${base}/hello`],
    shows: /hello from the origin/,
    silent: ['tunnel'],
  },
  {
    name: 'wget',
    argv: (base) => ['wget', '-nv', '-O-', '--tries=1', '-T', '20', `${base}/hello`],
    shows: /hello from the origin/,
    cannot: { tunnel: 'its TLS library reads no variable' },
  },
  {
    name: 'git',
    argv: (base) => ['git', 'ls-remote', `${base}/repo.git`],
    shows: /refs\/heads\/main/,
    silent: ['tunnel'],
  },
  {
    name: 'npm',
    argv: (base) => [
      'npm',
      'view',
      'demo',
      'version',
      `--registry=${base}/`,
      '--fetch-retries=0',
      '--loglevel=error',
      `--cache=${join(folder, 'npm-cache')}`,
    ],
    shows: /1\.2\.3/,
  },
  {
    name: 'pip',
    argv: (base) => [
      'python3',
      '-m',
      'pip',
      'index',
      'versions',
      'demo',
      '-vv',
      '--no-input',
      '--retries=0',
      '--disable-pip-version-check',
      '--trusted-host=denied.invalid',
      `--index-url=${base}/simple/`,
    ],
    shows: /demo \(1\.2\.3\)/,
  },
  {
    name: 'python urllib',
    argv: (base) =>
      PYTHON(`import urllib.request; print(urllib.request.urlopen(${JSON.stringify(`${base}/hello`)}).read())`),
    shows: /hello from the origin/,
  },
  {
    name: 'python urllib, strict',
    argv: (base) =>
      PYTHON(
        `import ssl, urllib.request; c = ssl.create_default_context(); c.verify_flags |= ssl.VERIFY_X509_STRICT; print(urllib.request.urlopen(${JSON.stringify(`${base}/hello`)}, context=c).read())`,
      ),
    shows: /hello from the origin/,
  },
  { name: 'a WebSocket client of node', argv: (base) => NODE(WEBSOCKET(`${base}/chat`)), shows: /echo hi/ },
]
const OPTIONAL: (Tool & { needs: string[] })[] = [
  {
    name: 'python requests',
    needs: ['python3', '-c', 'import requests'],
    argv: (base) =>
      PYTHON(
        `import requests; r = requests.get(${JSON.stringify(`${base}/hello`)}); print(r.text); r.raise_for_status()`,
      ),
    shows: /hello from the origin/,
  },
  {
    name: 'python httpx',
    needs: ['python3', '-c', 'import httpx'],
    argv: (base) =>
      PYTHON(`import httpx; r = httpx.get(${JSON.stringify(`${base}/hello`)}); print(r.text); r.raise_for_status()`),
    shows: /hello from the origin/,
  },
  {
    name: 'node undici',
    needs: [process.execPath, '-e', `require(${UNDICI}).EnvHttpProxyAgent.name`],
    argv: (base) =>
      NODE(
        `const { fetch, EnvHttpProxyAgent } = require(${UNDICI}); fetch(${JSON.stringify(`${base}/hello`)}, { dispatcher: new EnvHttpProxyAgent() }).then(async (r) => { console.log(await r.text()); process.exit(r.ok ? 0 : 1) }, (e) => { console.log(e); process.exit(1) })`,
      ),
    shows: /hello from the origin/,
    silent: ['plain', 'tunnel'],
  },
  {
    name: 'node fetch',
    needs: [
      process.execPath,
      '-e',
      'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major >= 24 || (major === 22 && minor >= 21) ? 0 : 1)',
    ],
    argv: (base) =>
      NODE(
        `fetch(${JSON.stringify(`${base}/hello`)}).then(async (r) => { console.log(await r.text()); process.exit(r.ok ? 0 : 1) }, (e) => { console.log(e); process.exit(1) })`,
      ),
    shows: /hello from the origin/,
    // It opens a tunnel for plain HTTP, too.
    silent: ['plain', 'tunnel'],
  },
  {
    name: 'cargo',
    needs: ['cargo', '--version'],
    argv: (base) => [
      'cargo',
      'search',
      'demo',
      '--config',
      `registries.local.index="sparse+${base}/index/"`,
      '--config',
      'net.retry=0',
      '--registry',
      'local',
    ],
    shows: /demo = "1\.2\.3"/,
    silent: ['tunnel'],
  },
  {
    name: 'java',
    needs: ['java', '-version'],
    argv: (base) => ['java', '-XX:TieredStopAtLevel=1', join(folder, 'Get.java'), `${base}/hello`],
    shows: /hello from the origin/,
    cannot: { tunnel: 'it has a key store of its own' },
  },
]
const JAVA = `public class Get { public static void main(String[] a) throws Exception {
  var c = (java.net.HttpURLConnection) new java.net.URL(a[0]).openConnection();
  var s = c.getResponseCode() < 400 ? c.getInputStream() : c.getErrorStream();
  System.out.println(c.getResponseMessage() + " " + new String(s.readAllBytes())); if (c.getResponseCode() >= 400) System.exit(1); } }`

const present = OPTIONAL.filter(
  ({ needs: [program, ...argv] }) => spawnSync(program!, argv, { stdio: 'ignore' }).status === 0,
)

async function outcome(tool: Tool, base: string, env: NodeJS.ProcessEnv): Promise<{ ok: boolean; output: string }> {
  const [program, ...argv] = tool.argv(base)
  const options = { env, cwd: folder, timeout: 60_000 }
  return run(program!, argv, options).then(
    ({ stdout, stderr }) => ({ ok: true, output: stdout + stderr }),
    (error: { stdout: string; stderr: string; message: string }) => ({
      ok: false,
      output: error.stdout + error.stderr,
    }),
  )
}

describe.each([...TOOLS, ...present])('$name', (tool) => {
  beforeAll(() => writeFileSync(join(folder, 'Get.java'), JAVA))

  it.each(['plain', 'tunnel', 'inspected'] as const)(
    '%s: reaches what is allowed, and says why it does not reach the rest',
    async (way) => {
      const env = way === 'inspected' ? environments.inspecting : environments.relaying
      const { open, closed } = places[way]
      if (!tool.cannot?.[way]) {
        const reached = await outcome(tool, open, env)
        expect(reached.output).toMatch(tool.shows)
        expect(reached.ok).toBe(true)
      }
      const refused = await outcome(tool, closed, env)
      expect(refused.ok).toBe(false)
      expect(refused.output).toMatch(tool.silent?.includes(way) ? /403/ : REASON)
      expect(refused.output).not.toMatch(tool.shows)
    },
  )
})
