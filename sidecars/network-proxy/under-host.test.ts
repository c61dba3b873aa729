import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { array, object } from '../protocol/decode.ts'
import {
  approvalsRequest,
  connectionsChanged,
  leaseGranted,
  networkRule,
  type ConnectionFacts,
} from '../protocol/host-channel.ts'
import { unknown } from '../protocol/decode.ts'
import { RpcPeer } from '../rpc/peer.ts'
import { memoryPair } from '../rpc/memory-transport.ts'
import { toPem } from './certificates/pem.ts'
import { subjectHash } from './policy/decider.ts'
import { echoOrigin } from './test-kit/origins.ts'
import { eventually } from './test-kit/owner.ts'
import { connectTo, RawClient } from './test-kit/raw-client.ts'
import { ORIGIN_AUTHORITY } from './test-kit/tls-origins.ts'
import { underHost } from './under-host.ts'

const emptyAnswer = object({})
const revisionAnswer = object({ revision: unknown })

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-under-host-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A sidecar under a host that answers every question with `verdict`. */
async function sidecar(
  config: Record<string, unknown> = {},
  verdict: 'allow' | 'deny' = 'deny',
  runDir = temporaryFolder(),
) {
  const [hostEnd, sidecarEnd] = memoryPair()
  const host = new RpcPeer(hostEnd)
  const connections = new Map<string, ConnectionFacts>()
  const questions: unknown[] = []
  host.onNotification('connections/changed', connectionsChanged, ({ connections: batch }) => {
    for (const facts of batch) connections.set(facts.id, facts)
  })
  host.onRequest('approvals/request', approvalsRequest, (request) => {
    questions.push(request)
    return {
      requestId: 'req_1',
      decision: {
        verdict,
        scope: 'once',
        actor: { kind: 'person', via: 'window' },
        subjectHash: subjectHash(request.subject as Parameters<typeof subjectHash>[0]),
        decidedAtMs: 0,
      },
    }
  })
  const peer = new RpcPeer(sidecarEnd)
  const params = { protocolVersion: 1, instanceId: 'i', generation: 1, dataDir: '/d', runDir }
  const instance = await underHost({
    host: peer,
    params: { ...params, config: { http: { host: '127.0.0.1', port: 0 }, ...config } },
    onPort() {},
  })
  onTestFinished(() => instance.shutdown(1000))
  host.start()
  peer.start()
  return { host, instance, connections, questions, port: Number(new URL(instance.endpoints.http!).port) }
}

describe('the proxy under a host', () => {
  it('announces its addresses, SOCKS only when it is on', async () => {
    expect(Object.keys((await sidecar()).instance.endpoints)).toEqual(['http'])
    const both = await sidecar({ socks: { host: '127.0.0.1', port: 0 } })
    expect(both.instance.endpoints).toMatchObject({ http: /^http:/, socks: /^socks5h:/ } as never)
  })

  it('P08 acknowledges rules with their revision, after which they hold', async () => {
    const origin = await echoOrigin()
    const { host, port, connections } = await sidecar({ unknownHost: 'block' })
    const rule = { id: 'rul_1', pattern: '127.0.0.1', port: origin.port, verdict: 'allow', scope: 'always' }
    expect(await host.request('rules/set', { revision: 7, rules: [rule] }, revisionAnswer)).toEqual({ revision: 7 })
    const client = await RawClient.open(port)
    expect((await client.send(connectTo(`127.0.0.1:${origin.port}`)).answer('HEAD')).status).toBe(200)
    await eventually(() => [...connections.values()].some(({ ruleId }) => ruleId === 'rul_1'))
  })

  it('rejects bad rules whole, naming the one, and keeps the old ones', async () => {
    const { host } = await sidecar()
    const rules = [
      { id: 'a', pattern: 'a.test', verdict: 'allow', scope: 'always' },
      { id: 'b', pattern: 'http://b', verdict: 'allow', scope: 'always' },
    ]
    expect(array(networkRule)(rules, 'rules')).toHaveLength(2)
    await expect(host.request('rules/set', { revision: 2, rules }, revisionAnswer)).rejects.toMatchObject({
      code: 'invalidParams',
      message: expect.stringMatching(/^rules\[1\]\.pattern: /) as string,
    })
  })

  it('asks the host with the lease’s process and session, and reports the outcome', async () => {
    const { host, questions, connections } = await sidecar({}, 'deny')
    const granted = await host.request(
      'leases/grant',
      { leaseId: 'lea_1', processId: 'prc_1', sessionId: 'ses_1', command: 'curl' },
      leaseGranted,
    )
    const client = await RawClient.open(Number(new URL(granted.environment.HTTPS_PROXY!).port))
    expect((await client.send(connectTo('a.test:443')).answer()).status).toBe(403)
    expect(questions).toMatchObject([
      {
        subject: { kind: 'connection', host: 'a.test', port: 443, protocol: 'https', method: 'CONNECT' },
        origin: { sessionId: 'ses_1', processId: 'prc_1' },
        gate: 'ask',
      },
    ])
    await eventually(() =>
      [...connections.values()].some(({ leaseId, state }) => leaseId === 'lea_1' && state === 'blocked'),
    )
    expect(await host.request('leases/revoke', { leaseId: 'lea_1' }, emptyAnswer)).toEqual({})
  })

  it('P28 allowed hosts never stand in a no-proxy variable', async () => {
    const { host } = await sidecar({ rules: [{ id: 'a', pattern: 'api.test', verdict: 'allow', scope: 'always' }] })
    const { environment } = await host.request(
      'leases/grant',
      { leaseId: 'l', sessionId: 's', command: '' },
      leaseGranted,
    )
    for (const [name, value] of Object.entries(environment))
      if (/no_?proxy/i.test(name)) expect(value).not.toContain('api.test')
  })

  it('takes live settings over and refuses fixed ones by name', async () => {
    const { instance } = await sidecar()
    const config = { http: { host: '127.0.0.1', port: 0 } }
    await instance.configure({ ...config, mode: 'limited' })
    await expect(instance.configure({ ...config, enabled: false })).rejects.toMatchObject({
      code: 'invalidParams',
      message: 'cannot update network.enabled on a running proxy; restart it',
    })
    await expect(instance.configure({ http: 5 })).rejects.toMatchObject({
      code: 'invalidParams',
      message: /^config\.http/,
    })
  })

  it('a host that goes away while it is asked is a refusal', async () => {
    const [hostEnd, sidecarEnd] = memoryPair()
    const host = new RpcPeer(hostEnd).onRequest('approvals/request', approvalsRequest, () => {
      host.close()
      return new Promise(() => {})
    })
    const peer = new RpcPeer(sidecarEnd)
    const instance = await underHost({
      host: peer,
      params: {
        protocolVersion: 1,
        instanceId: 'i',
        generation: 1,
        dataDir: '',
        runDir: '',
        config: { http: { host: '127.0.0.1', port: 0 } },
      },
      onPort() {},
    })
    onTestFinished(() => instance.shutdown(1000))
    host.start()
    peer.start()
    const client = await RawClient.open(Number(new URL(instance.endpoints.http!).port))
    expect((await client.send(connectTo('a.test:443')).answer()).status).toBe(403)
  })

  describe('when the trust bundle cannot be written', () => {
    const LIMITED = {
      mode: 'limited',
      rules: [{ id: 'rul_1', pattern: '127.0.0.1', verdict: 'allow', scope: 'always' }],
    }
    const notAFolder = () => {
      const folder = mkdtempSync(join(tmpdir(), 'gatehouse-no-bundle-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      writeFileSync(join(folder, 'file'), '')
      return join(folder, 'file')
    }

    it('limited mode does not start, and says which folder it is', async () => {
      const runDir = notAFolder()
      await expect(sidecar(LIMITED, 'deny', runDir)).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(`cannot be written to ${runDir}/certificates (ENOTDIR)`) as string,
      })
    })

    it('a change to limited mode says so, and nothing passes that it would have to inspect', async () => {
      const { instance, port } = await sidecar({ ...LIMITED, mode: 'full' }, 'deny', notAFolder())
      const origin = await echoOrigin()
      const change = { http: { host: '127.0.0.1', port: 0 }, ...LIMITED }
      await expect(instance.configure(change)).rejects.toThrow('what has to be inspected is refused until it can')
      const tunnel = await RawClient.open(port)
      const answer = await tunnel.send(connectTo(`127.0.0.1:${origin.port}`)).answer()
      expect(answer.headers['x-proxy-error']).toBe('blocked-by-mitm-required')
    })
  })

  it('authorities and secrets come from the environment that the host sends, and change with it', async () => {
    const runDir = mkdtempSync(join(tmpdir(), 'gatehouse-sent-environment-'))
    onTestFinished(() => rmSync(runDir, { recursive: true }))
    const corporate = join(runDir, 'corp.pem')
    const pem = toPem('CERTIFICATE', ORIGIN_AUTHORITY.certificate)
    writeFileSync(corporate, pem)
    const file =
      '[mitm]\ninspect_all = true\n[mitm.actions.a]\ninject_request_headers = [{name = "X", secret_env_var = "T"}]'
    const common = { ownerFile: { path: '/d/network.toml', text: file } }
    const { instance } = await sidecar({ ...common, environment: { T: 'x' } }, 'deny', runDir)
    const bundle = () => readFileSync(join(runDir, 'certificates/trust-bundle.pem'), 'utf8').replaceAll(/\s/g, '')
    const body = pem.replaceAll(/-----[A-Z ]+-----|\s/g, '')
    const before = bundle()
    expect(before).not.toContain(body)
    const address = { http: { host: '127.0.0.1', port: 0 } }
    await instance.configure({ ...address, ...common, environment: { T: 'x', SSL_CERT_FILE: corporate } })
    expect(bundle()).toContain(body)
    // The authority of this launch stays: running processes trust it already.
    expect(bundle().endsWith(before.slice(-400))).toBe(true)
    await expect(instance.configure({ ...address, ...common })).rejects.toThrow('the variable T is not set')
  })

  describe('the owner’s network.toml', () => {
    const ownerFile = (text: string) => ({ path: '/d/network.toml', text })
    const HOOKED = ownerFile(
      '[mitm.hooks.a]\nhost = "127.0.0.1"\nmethods = ["GET"]\npath_prefixes = ["/api"]\naction = ["none"]\n[mitm.actions.none]\n',
    )
    const RULES = { rules: [{ id: 'rul_1', pattern: '127.0.0.1', verdict: 'allow', scope: 'always' }] }
    const plain = async (port: number) => {
      const client = await RawClient.open(port)
      return (await client.send('GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n').answer()).headers
    }

    it('is in force from the start, and live', async () => {
      const runDir = mkdtempSync(join(tmpdir(), 'gatehouse-owner-file-'))
      onTestFinished(() => rmSync(runDir, { recursive: true }))
      const { instance, port } = await sidecar({ ...RULES, ownerFile: HOOKED }, 'deny', runDir)
      expect((await plain(port))['x-proxy-error']).toBe('blocked-by-mitm-required')
      const address = { http: { host: '127.0.0.1', port: 0 } }
      await instance.configure({ ...address, ...RULES })
      expect((await plain(port))['x-proxy-error']).toBe('upstream-failure')
      await instance.configure({ ...address, ...RULES, ownerFile: HOOKED })
      expect((await plain(port))['x-proxy-error']).toBe('blocked-by-mitm-required')
      // One that is broken leaves what was in force.
      await expect(instance.configure({ ...address, ...RULES, ownerFile: ownerFile('[mitm.hook]') })).rejects.toThrow(
        '/d/network.toml: network.mitm.hook: unknown key',
      )
      expect((await plain(port))['x-proxy-error']).toBe('blocked-by-mitm-required')
    })

    it.each([
      ['a broken key', ownerFile('[mitm.hook]'), '/d/network.toml: network.mitm.hook: unknown key'],
      ['a setting', ownerFile('mode = "full"'), '/d/network.toml: network.mode: is the setting networkMode'],
      [
        'a secret that is not there',
        ownerFile(
          '[mitm.actions.a]\ninject_request_headers = [{ name = "X-A", secret_env_var = "GATEHOUSE_NO_SUCH" }]',
        ),
        '/d/network.toml: network.mitm.actions.a.inject_request_headers[0].secret_env_var: the variable GATEHOUSE_NO_SUCH is not set',
      ],
      [
        'a key that others can read',
        ownerFile('[mitm_ca]\ncertificate_file = "/nowhere.pem"\nprivate_key_file = "/b"\n[mitm]\ninspect_all = true'),
        'mitm_ca.certificate_file: /nowhere.pem cannot be read (ENOENT)',
      ],
    ])('with %s stops the start, by name', async (_what, file, message) => {
      await expect(sidecar({ ownerFile: file })).rejects.toMatchObject({
        code: 'invalidParams',
        message: expect.stringContaining(message) as string,
      })
    })
  })
})
