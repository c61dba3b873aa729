import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { READ_ONLY, sandboxOf } from '../../testing/confined-commands.ts'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient, type StartOptions, type WireMessage } from '../../testing/exec-wire-client.ts'

let server: ExecServerAlone
let web: Server
let port: number
let requests: string[]
let client: ExecWireClient
beforeAll(async () => {
  web = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    response.end('reached\n')
  })
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  port = (web.address() as AddressInfo).port
  server = await startExecServerAlone()
})
afterAll(async () => {
  await server.stop()
  web.closeAllConnections()
  web.close()
})
beforeEach(async () => {
  requests = []
  client = await ExecWireClient.open(server.url)
})
afterEach(() => client.drop())

const SETTINGS = {
  enabled: true,
  enableSocks5: true,
  enableSocks5Udp: false,
  allowUpstreamProxy: false,
  dangerouslyAllowAllUnixSockets: false,
  mode: 'full',
  allowLocalBinding: true,
}
/** A start with a proxy that asks, unless `launch` says otherwise. */
const proxied = (proxy: object = {}, launch: object = { policyDecisionTimeoutMs: 60_000 }) => ({
  networkProxy: { proxy: { ...SETTINGS, ...proxy }, ...launch },
})
const decided = (type: string, reason?: string) => ({ result: { decision: { type, reason } } })
/** Local binding puts this machine into NO_PROXY; what is tested here has to go through. */
const get = (options = '', path = '/') =>
  ['sh', '-c', `unset NO_PROXY no_proxy; curl -sS ${options} http://localhost:${port}${path}`] as const
const run = async (argv: readonly string[], options: StartOptions) => {
  const process = await client.run([...argv], options).closed()
  return { text: process.text(), exitCode: process.exitCode }
}
const questions = () => client.messages.filter(({ method }) => method === 'network/policyRequest')
const decisions = () => client.notifications('network/policyDecision').map(({ params }) => params)

it('is announced, in both places alike', async () => {
  const environmentInfo = await client.call('environment/info')
  expect(environmentInfo.capabilities).toMatchObject({ networkProxyLaunch: true, networkProxyReviewDomains: true })
  const second = await ExecWireClient.connect(server.url)
  expect((await second.initialize()).result?.environmentInfo).toEqual(environmentInfo)
  second.drop()
})

it('a process gets its own proxy and the variables that lead to it', async () => {
  const { text } = await run(['/usr/bin/env'], { ...proxied({ allowLocalBinding: false }), env: { MINE: '1' } })
  const variables = Object.fromEntries(text.split('\n').map((line) => line.split(/=(.*)/s) as [string, string]))
  expect(variables).toMatchObject({
    MINE: '1',
    CODEX_NETWORK_PROXY_ACTIVE: '1',
    CODEX_NETWORK_ALLOW_LOCAL_BINDING: '0',
    NODE_USE_ENV_PROXY: '1',
    ELECTRON_GET_USE_PROXY: 'true',
    NO_PROXY: '',
    HTTP_PROXY: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    FTP_PROXY: expect.stringMatching(/^socks5h:\/\/127\.0\.0\.1:\d+$/),
  })
  for (const name of ['HTTPS_PROXY', 'http_proxy', 'https_proxy', 'npm_config_proxy', 'PIP_PROXY', 'DOCKER_HTTP_PROXY'])
    expect(variables[name]).toBe(variables.HTTP_PROXY)
  const other = await run(['/usr/bin/env'], proxied())
  expect(other.text).not.toContain(`HTTP_PROXY=${variables.HTTP_PROXY}\n`)
})

describe('the client', () => {
  it('is asked about a host that no domain names, once for each request, and told what was decided', async () => {
    client.answerWith = () => decided('allow')
    const process = client.run([...get('', '/1'), 'sh'], proxied())
    expect((await process.closed()).text()).toBe('reached\n')
    expect(questions().map(({ params }) => params)).toEqual([
      { processId: process.id, request: { protocol: 'http', host: 'localhost', port } },
    ])
    expect(decisions()).toEqual([
      {
        processId: process.id,
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        scope: 'domain',
        decision: 'allow',
        source: 'decider',
        reason: 'not_allowed',
        protocol: 'http',
        host: 'localhost',
        port,
        method: 'GET',
        client: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        policyOverride: true,
      },
    ])
    await run(['sh', '-c', `unset NO_PROXY no_proxy; curl -s http://localhost:${port}/a http://localhost:${port}/b`], {
      ...proxied(),
    })
    expect(questions()).toHaveLength(3)
    expect(decisions()).toHaveLength(3)
    expect(requests).toEqual(['GET /1', 'GET /a', 'GET /b'])
  })

  it.each([
    ['deny', 'not <b>this</b> one', 'not bthis/b one', 'deny'],
    ['ask', 'later', 'later', 'ask'],
    ['deny', '', 'policy_denied', 'deny'],
  ])('that says %s "%s" is heard by the program', async (type, words, reason, decision) => {
    client.answerWith = () => decided(type, words)
    const { text } = await run(get(), proxied())
    expect(JSON.parse(text)).toMatchObject({
      status: 'blocked',
      host: 'localhost',
      port,
      protocol: 'http',
      reason,
      decision,
      source: 'decider',
    })
    expect(decisions()).toMatchObject([{ decision, reason, source: 'decider', policyOverride: false }])
    expect(requests).toEqual([])
  })

  it.each<[string, () => ReturnType<ExecWireClient['answerWith']>]>([
    ['answers with an error', () => ({ error: { code: -32601, message: 'what?' } })],
    ['answers what cannot be decoded', () => ({ result: { decision: 'yes' } })],
    ['answers with a decision that does not exist', () => decided('allow_always')],
    ['answers with nothing', () => ({ result: null })],
  ])('that %s has not allowed it', async (_, answer) => {
    client.answerWith = answer
    const { text } = await run(get(), proxied())
    expect(JSON.parse(text)).toMatchObject({ reason: 'not_allowed', decision: 'deny', source: 'decider' })
    expect(requests).toEqual([])
  })

  it('that is gone while it is asked has not allowed it; who comes back is asked again', async () => {
    const script = `unset NO_PROXY no_proxy; curl -s http://localhost:${port}/lost; read -r _; curl -s http://localhost:${port}/again`
    const asking = await client.run(['sh', '-c', script], { ...proxied(), tty: true }).running()
    await client.until(() => questions().length === 1)
    const { sessionId } = client
    client.drop()
    client = await ExecWireClient.connect(server.url)
    client.answerWith = () => decided('allow')
    const again = client.watch(asking.id)
    // The end of the old connection may be noticed a moment later.
    while ((await client.initialize(sessionId)).error?.code === -32010)
      await new Promise((resolve) => setImmediate(resolve))
    let text = ''
    while (!text.includes('not_allowed')) {
      const { chunks } = await again.read({ waitMs: 60_000 })
      text = (chunks as { chunk: string }[]).map(({ chunk }) => Buffer.from(chunk, 'base64').toString()).join('')
    }
    await again.write('\n')
    await again.closed()
    expect(questions()).toHaveLength(1)
    expect(requests).toEqual(['GET /again'])
  })

  it('is asked about tunnels and SOCKS by their names, and its no closes them', async () => {
    client.answerWith = () => decided('allow')
    expect((await run(get('-p', '/tunnel'), proxied())).text).toBe('reached\n')
    expect((await run(get('-x "$GATEHOUSE_SOCKS_PROXY"', '/socks'), proxied())).text).toBe('reached\n')
    client.answerWith = () => decided('deny', 'no')
    expect((await run(get('-p'), proxied())).exitCode).toBe(56)
    expect((await run(get('-x "$GATEHOUSE_SOCKS_PROXY"'), proxied())).exitCode).toBe(97)
    const asked = questions().map(({ params }) => (params as { request: { protocol: string } }).request.protocol)
    expect(asked).toEqual(['https_connect', 'socks5_tcp', 'https_connect', 'socks5_tcp'])
    expect(decisions().map((decision) => [decision?.protocol, decision?.decision])).toEqual([
      ['https_connect', 'allow'],
      ['socks5_tcp', 'allow'],
      ['https_connect', 'deny'],
      ['socks5_tcp', 'deny'],
    ])
    expect(requests).toEqual(['GET /tunnel', 'GET /socks'])
  })
})

describe('domains', () => {
  it.each<[string, object, object, string | undefined, string]>([
    ['allowed are reached', { domains: { localhost: 'allow' } }, {}, undefined, 'reached'],
    ['denied are refused without a question', { domains: { localhost: 'deny' } }, {}, 'denied', 'denied'],
    ['taken back are as if they were not there', { domains: { localhost: 'none' } }, {}, 'not_allowed', 'not_allowed'],
    ['not named are refused when nobody is to be asked', {}, {}, 'not_allowed', 'not_allowed'],
    [
      'of this machine are refused unless local binding is allowed',
      { allowLocalBinding: false },
      {},
      'not_allowed_local',
      'not_allowed_local',
    ],
    [
      'to be reviewed are refused when nobody is to be asked',
      { domains: { localhost: 'allow' }, reviewDomains: ['localhost'] },
      {},
      'not_allowed',
      'not_allowed',
    ],
  ])('%s', async (_, proxy, launch, reason, said) => {
    client.answerWith = () => decided('allow')
    expect((await run(get(), proxied(proxy, launch))).text).toContain(said)
    expect(questions()).toEqual([])
    expect(requests).toHaveLength(reason === undefined ? 1 : 0)
    expect(decisions()).toMatchObject([
      { decision: reason === undefined ? 'allow' : 'deny', source: 'baseline_policy', reason: reason ?? 'allow' },
    ])
  })

  it('to be reviewed are asked about although they are allowed', async () => {
    client.answerWith = () => decided('allow')
    const proxy = { allowLocalBinding: false, domains: { localhost: 'allow' }, reviewDomains: ['localhost'] }
    expect((await run(get(), proxied(proxy))).text).toBe('reached\n')
    expect(questions()).toHaveLength(1)
  })

  it('in limited mode can be read and not written', async () => {
    const proxy = { mode: 'limited', domains: { localhost: 'allow' } }
    expect((await run(get(), proxied(proxy, {}))).text).toBe('reached\n')
    expect(JSON.parse((await run(get('-X POST'), proxied(proxy, {}))).text)).toMatchObject({
      reason: 'method_not_allowed',
      source: 'mode_guard',
    })
    expect(decisions().at(-1)).toMatchObject({ scope: 'non_domain', source: 'mode_guard', method: 'POST' })
    expect(requests).toEqual(['GET /'])
  })
})

it('the proxy is gone when its process has closed', async () => {
  const { text } = await run(['sh', '-c', 'echo ${HTTP_PROXY##*:}'], proxied())
  const refused = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(text), '127.0.0.1')
      socket.once('error', () => resolve(true))
      socket.once('connect', () => (socket.destroy(), resolve(false)))
    })
  await expect.poll(refused).toBe(true)
})

it('a command behind walls reaches the proxy and nothing else', async () => {
  for (const more of [{ enforceManagedNetwork: true }, {}]) {
    const options = {
      ...proxied({ allowLocalBinding: false, domains: { localhost: 'allow' } }, {}),
      ...more,
      sandbox: sandboxOf({ root: '/tmp', entries: READ_ONLY, network: 'restricted' }),
    }
    const script = `curl -sS http://localhost:${port}/walled; curl -sS --noproxy '*' http://localhost:${port}/direct`
    const { text, exitCode } = await run(['sh', '-c', script], options)
    expect(text).toMatch(/^reached\n.*Failed to connect/s)
    expect(exitCode).toBe(7)
  }
  expect(requests).toEqual(['GET /walled', 'GET /walled'])
})

it('P55 with local binding a command behind walls reaches no resolver, no mDNS and no datagram port of the machine', async () => {
  const heard: string[] = []
  const machine = createSocket('udp4').on('message', (bytes) => heard.push(bytes.toString()))
  await new Promise<void>((resolve) => machine.bind(0, '0.0.0.0', resolve))
  onTestFinished(() => void machine.close())
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const outside = own.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address)
  const resolvers = [...readFileSync('/etc/resolv.conf', 'utf8').matchAll(/^nameserver (\d[\d.]+)$/gm)].map(
    ([, at]) => at,
  )
  const targets = [
    `127.0.0.1/${machine.address().port}`,
    ...outside.map((address) => `${address}/${machine.address().port}`),
    '224.0.0.251/5353',
    ...[...resolvers, '192.0.2.53'].map((address) => `${address}/53`),
  ]
  const script = targets.map((target) => `echo query-to-${target} > /dev/udp/${target}; echo done`).join('\n')
  const { text } = await run(['bash', '-c', script], {
    ...proxied({ allowLocalBinding: true }, {}),
    enforceManagedNetwork: true,
    sandbox: sandboxOf({ root: '/tmp', entries: READ_ONLY, network: 'restricted' }),
  })
  expect(text.match(/^done$/gm)).toHaveLength(targets.length)
  for (const target of targets.filter((target) => !target.startsWith('127.')))
    expect(text).toContain(`/dev/udp/${target}: Network is unreachable`)
  expect(heard).toEqual([])
  // The canary hears what is sent outside of the walls.
  await run(['bash', '-c', `echo free > /dev/udp/${targets[0]}`], {})
  await expect.poll(() => heard).toEqual(['free\n'])
})

describe('refused before anything runs', () => {
  it.each<[string, StartOptions, Partial<NonNullable<WireMessage['error']>>]>([
    [
      'a proxy that is off',
      proxied({ enabled: false }),
      { code: -32602, data: { field: 'networkProxy.proxy.enabled' } },
    ],
    [
      'a pattern that is a URL',
      proxied({ domains: { 'http://x': 'allow' } }),
      { code: -32602, data: { field: 'networkProxy.proxy.domains' } },
    ],
    [
      'a denial of everything',
      proxied({ domains: { '*': 'deny' } }),
      { code: -32602, data: { field: 'networkProxy.proxy.domains' } },
    ],
    [
      'a pattern to review that cannot be read',
      proxied({ reviewDomains: ['a b'] }),
      { code: -32602, data: { field: 'networkProxy.proxy.reviewDomains' } },
    ],
    ['no time to think', proxied({}, { policyDecisionTimeoutMs: 0 }), { code: -32602 }],
    ['questions about an id that is too long', { ...proxied(), id: 'x'.repeat(257) }, { code: -32602 }],
    ['questions about an empty id', { ...proxied(), id: '' }, { code: -32602 }],
    ['settings that are missing', { networkProxy: { proxy: { enabled: true } } }, { code: -32602 }],
    [
      'credentials to mask',
      proxied({ credentialProviders: { github: {} } }),
      { code: -32603, data: { kind: 'sandboxUnavailable' } },
    ],
    [
      'connections to redirect without walls',
      proxied({ transparentTcp: true }),
      { code: -32603, data: { kind: 'sandboxUnavailable' } },
    ],
  ])('%s', async (_, options, error) => {
    const refused = client.run(['sh', '-c', `curl http://127.0.0.1:${port}/ran`], options)
    expect(await refused.started).toMatchObject({ error })
    expect(requests).toEqual([])
    // The id is free again.
    expect((await client.run(['true'], { id: refused.id }).closed()).exitCode).toBe(0)
  })
})
