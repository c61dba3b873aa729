import { describe, expect, it } from 'vitest'
import { ClientPresence } from '../client-presence.ts'
import { echoOrigin } from '../test-kit/origins.ts'
import { silentPort } from '../test-kit/silent-origin.ts'
import { dial, type DialTimes } from './dialer.ts'

const TIMES: DialTimes = { connectTimeoutMs: 10_000, attemptDelayMs: 250 }

describe('dial', () => {
  it('connects to the first address that answers and names the address', async () => {
    const { port } = await echoOrigin()
    const upstream = await dial(['127.0.0.1', '127.0.0.9'], port, new ClientPresence(), TIMES)
    expect([upstream.address, upstream.port]).toEqual(['127.0.0.1', port])
    upstream.destroy()
  })

  it('goes on after a refusal, and fails with the last one', async () => {
    const { port } = await echoOrigin()
    const upstream = await dial(['127.0.0.9', '127.0.0.1'], port, new ClientPresence(), TIMES)
    expect(upstream.address).toBe('127.0.0.1')
    upstream.destroy()
    await expect(dial(['127.0.0.8', '127.0.0.9'], port, new ClientPresence(), TIMES)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      message: `127.0.0.9:${port} refused the connection`,
    })
  })

  it('does not wait for an address that is silent, and drops it when another answers', async () => {
    const port = await silentPort()
    // The second address has nobody listening, so its failure shows that it was tried beside the first.
    const times = { connectTimeoutMs: 400, attemptDelayMs: 60 }
    const startedAt = performance.now()
    await expect(dial(['127.0.0.1', '127.0.0.9'], port, new ClientPresence(), times)).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: `127.0.0.1:${port} did not answer in time`,
    })
    expect(performance.now() - startedAt).toBeGreaterThan(350)
  })

  it('ends everything when the client leaves', async () => {
    const presence = new ClientPresence()
    const outcome = dial(['127.0.0.1'], await silentPort(), presence, TIMES)
    presence.leave()
    await expect(outcome).rejects.toMatchObject({ code: 'ECANCELED' })
    const origin = await echoOrigin()
    await expect(dial(['127.0.0.1'], origin.port, presence, TIMES)).rejects.toMatchObject({ code: 'ECANCELED' })
    expect(origin.connections).toBe(0)
  })
})
