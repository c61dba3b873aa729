import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RelayService } from '../../testing/relay-service.ts'
import { relayConnector } from './relay-connector.ts'
import { formatRelayFrame } from './relay-frame.ts'
import { RemoteExecutor } from './remote-executor.ts'

const ENVIRONMENT = 'env_1-x'
let service: RelayService
let executor: RemoteExecutor | undefined
let streams: string[]
beforeEach(async () => {
  service = await RelayService.start()
  streams = []
})
afterEach(async () => {
  await executor?.close()
  executor = undefined
  service.stop()
})

/** An executor that is there and only counts who came in. */
async function startExecutor(): Promise<void> {
  executor = await RemoteExecutor.start({
    baseUrl: `${service.url}//`,
    environmentId: ENVIRONMENT,
    token: 'the-key',
    onStream: (carrier, streamId) => {
      carrier.start({ onMessage() {}, onProblem() {}, onDrained() {}, onClose() {} })
      streams.push(streamId)
    },
    log() {},
  })
  await expect.poll(() => service.executor?.readyState).toBe(1)
}
const connect = async () => {
  const connector = relayConnector({ baseUrl: service.url, environmentId: ENVIRONMENT, token: 'mine' })
  const { transport } = await connector(new AbortController().signal)
  transport.close()
}

it('who is vouched for comes in', async () => {
  await startExecutor()
  await connect()
  expect(streams).toHaveLength(1)
})

describe('who connects is refused', () => {
  it.each<[string, RelayService['override']]>([
    ['when the registry says no', ({ action }) => (action === 'validate' ? { body: { valid: false } } : undefined)],
    ['when the registry says nothing of it', ({ action }) => (action === 'validate' ? { body: {} } : undefined)],
    ['when the registry fails', ({ action }) => (action === 'validate' ? { status: 500 } : undefined)],
  ])('%s', async (_, override) => {
    service.override = override
    await startExecutor()
    await expect(connect()).rejects.toThrow(/refused the connection/)
  })

  it('in words when the registry does not know the executor any more', async () => {
    service.override = ({ action }) => (action === 'validate' ? { status: 401 } : undefined)
    await startExecutor()
    await expect(connect()).rejects.toThrow('codex-registry-authentication-rejected/v1')
  })

  it('for a while when too many handshakes have failed, and the socket stays', async () => {
    await startExecutor()
    const resets: string[] = []
    service.onFrame = (frame, from, pass) => {
      if (from === 'executor') resets.push(frame.toString('latin1'))
      pass(frame)
    }
    for (let i = 0; i < 8; i++)
      service.executor?.send(
        formatRelayFrame({ streamId: `s${i}`, body: { kind: 'handshake', payload: Buffer.alloc(4000, i) } }),
      )
    await expect.poll(() => resets.length).toBe(8)
    expect(resets.every((frame) => frame.includes('noise_relay_protocol_error'))).toBe(true)
    await expect(connect()).rejects.toThrow(/refused the connection/)
    expect(service.calls.some(({ action }) => action === 'validate')).toBe(false)
    expect(service.executorConnections).toBe(1)
  })

  it('when what passes is changed on the way', async () => {
    await startExecutor()
    service.onFrame = (frame, from, pass) => {
      const changed = Buffer.from(frame)
      if (from === 'harness' && frame.length > 3000) changed[frame.length - 1] = (frame.at(-1) as number) ^ 1
      pass(changed)
    }
    await expect(connect()).rejects.toThrow(/refused the connection/)
  })
})

it.each<[string, RelayService['override'], string]>([
  [
    'an error of the registry',
    () => ({ status: 500, body: { error: { code: 'c1', message: 'm1' } } }),
    'environment registry request failed (500 Internal Server Error, c1): m1',
  ],
  [
    'a token that is not accepted',
    () => ({ status: 401, body: { error: { message: 'who are you?' } } }),
    'environment registry authentication error: environment registry authentication failed (401 Unauthorized): who are you?',
  ],
  [
    'a redirect',
    () => ({ status: 302, headers: { location: '/elsewhere' } }),
    'environment registry request failed (302',
  ],
  [
    'another environment',
    () => ({
      body: {
        environment_id: 'other',
        url: 'ws://x',
        security_profile: 'noise_hybrid_ik_v1',
        executor_registration_id: 'r',
      },
    }),
    'environment registry returned a different environment id',
  ],
  [
    'another profile',
    () => ({
      body: { environment_id: ENVIRONMENT, url: 'ws://x', security_profile: 'p2', executor_registration_id: 'r' },
    }),
    'environment registry returned unsupported security profile `p2`',
  ],
])('with %s at its start there is no executor', async (_, override, message) => {
  service.override = override
  await expect(startExecutor()).rejects.toThrow(message)
})
