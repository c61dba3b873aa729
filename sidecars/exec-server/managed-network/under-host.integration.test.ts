import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { READ_ONLY, sandboxOf } from '../../testing/confined-commands.ts'
import { DecidingHost } from '../../testing/deciding-host.ts'
import { ExecWireClient, type StartOptions } from '../../testing/exec-wire-client.ts'
import { launchSidecar, type LaunchedSidecar } from '../../testing/launched-sidecar.ts'

let folder: string
let sidecar: LaunchedSidecar
let client: ExecWireClient
/** Stands for the network proxy of the machine. */
let machineProxy: Server
let seen: string[]
const owner = new DecidingHost()

beforeAll(async () => {
  machineProxy = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.end('by way of the machine\n')
  })
  machineProxy.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`)
    socket.end('HTTP/1.1 403 no\r\n\r\n')
  })
  await new Promise<void>((resolve) => machineProxy.listen(0, '127.0.0.1', resolve))
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-managed-'))
  mkdirSync(join(folder, 'run'), { mode: 0o700 })
  const config = {
    socketPath: join(folder, 'run', 'exec.sock'),
    internalToken: 'internal',
    websocket: { port: 0, token: 'agent' },
    spoolBytes: 0,
    baseEnvironment: { PATH: '/usr/bin:/bin' },
  }
  sidecar = await launchSidecar('exec-server', { dataDir: folder, runDir: join(folder, 'run'), config }, owner.register)
  client = await ExecWireClient.open(sidecar.ready.endpoints.ws as string, undefined, { authorization: 'Bearer agent' })
})
afterAll(async () => {
  client.drop()
  await sidecar.shutdown()
  machineProxy.closeAllConnections()
  machineProxy.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  seen = []
  owner.policy = (question) => question.allow()
  owner.environment = { HTTP_PROXY: `http://127.0.0.1:${(machineProxy.address() as AddressInfo).port}` }
})

const networkProxy = {
  proxy: {
    enabled: true,
    enableSocks5: true,
    enableSocks5Udp: true,
    allowUpstreamProxy: false,
    dangerouslyAllowAllUnixSockets: true,
    mode: 'full',
    allowLocalBinding: true,
    domains: { 'example.test': 'allow', '127.0.0.1': 'allow' },
  },
}

it("what a client's own proxy lets out goes through the proxy of the machine, this machine included", async () => {
  const script = [
    'unset NO_PROXY no_proxy',
    'curl -sS http://example.test/x',
    'curl -sS http://127.0.0.1:9/y',
    'curl -sS https://example.test/ 2>/dev/null',
    'curl -sS -x "$GATEHOUSE_SOCKS_PROXY" http://127.0.0.1:9/z 2>/dev/null',
    'curl -sS http://refused.test/ | head -c 17',
  ].join('; ')
  const process = await client.run(['sh', '-c', script], { networkProxy }).closed()
  expect(process.text()).toBe('by way of the machine\nby way of the machine\n{"status":"blocke')
  expect(seen).toEqual([
    'GET http://example.test/x',
    'GET http://127.0.0.1:9/y',
    'CONNECT example.test:443',
    'CONNECT 127.0.0.1:9',
  ])
})

describe('a program that knows nothing of a proxy, behind walls', () => {
  const script = `import socket
try: socket.create_connection(('example.test', 443))
except OSError as e: print(e.strerror)`
  const walled = (proxy: object = {}, more: object = {}) => ({
    networkProxy: { proxy: { ...networkProxy.proxy, ...proxy } },
    sandbox: sandboxOf({ root: '/tmp', entries: READ_ONLY, network: 'restricted' }),
    ...more,
  })
  const run = async (options: StartOptions) => (await client.run(['python3', '-c', script], options).closed()).text()

  it.each([
    ['the client wants it', {}, { transparentTcp: true }],
    ['the host wants it for all', { GATEHOUSE_TRANSPARENT_TCP: '1' }, {}],
  ])('is redirected when %s, through the proxy of the machine', async (_, environment, proxy) => {
    Object.assign(owner.environment, environment)
    expect(await run(walled(proxy))).toBe('Connection refused\n')
    expect(seen).toEqual(['CONNECT example.test:443'])
  })

  it('is not redirected through a proxy that has no SOCKS, nor because it says so itself', async () => {
    const env = { PATH: '/usr/bin:/bin', GATEHOUSE_TRANSPARENT_TCP: '1' }
    const outcomes = [await run(walled({}, { env }))]
    owner.environment.GATEHOUSE_TRANSPARENT_TCP = '1'
    outcomes.push(await run(walled({ enableSocks5: false })))
    for (const text of outcomes) expect(text).toMatch(/name resolution/)
    expect(seen).toEqual([])
  })

  it('does not start when the host wants it and its lease has no SOCKS', async () => {
    owner.environment.GATEHOUSE_TRANSPARENT_TCP = '1'
    const sandbox = sandboxOf({ root: '/tmp', entries: READ_ONLY, network: 'enabled' })
    expect(await client.run(['true'], { sandbox }).started).toMatchObject({
      error: {
        data: { kind: 'sandboxUnavailable' },
        message: expect.stringMatching(/^transparent_tcp: .*SOCKS.*; switch SOCKS on, or leave transparent_tcp out$/),
      },
    })
  })
})

it('without a proxy of the machine the command does not start', async () => {
  owner.environment = {}
  expect(await client.run(['true'], { networkProxy }).started).toMatchObject({
    error: { code: -32603, data: { kind: 'sandboxUnavailable' } },
  })
})

it('settings that cannot be used are refused before the owner is asked', async () => {
  owner.questions.length = 0
  const broken = { proxy: { ...networkProxy.proxy, enabled: false } }
  expect(await client.run(['true'], { networkProxy: broken }).started).toMatchObject({ error: { code: -32602 } })
  expect(owner.questions).toEqual([])
})
