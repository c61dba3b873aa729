import { afterEach, expect, test } from 'vitest'
import { LocalExec } from '../../testing/local-exec.ts'
import { RecordingHost } from '../../testing/recording-host.ts'
import { SessionRegistry } from './session-registry.ts'

const exec = new LocalExec()
let registry: SessionRegistry | undefined
afterEach(() => registry?.dispose('over'))

test('E26 a silent client over HTTP is let go after the limit, one with something running or on a socket is not', async () => {
  const host = new RecordingHost()
  registry = new SessionRegistry(host, exec, 40, 10)
  const silent = registry.open({ name: 'silent' }, { via: 'mcp-http' })
  const calling = registry.open({ name: 'calling' }, { via: 'mcp-http' })
  registry.open({ name: 'attached' }, { via: 'mcp-stdio' })
  const release = calling.hold()
  expect(await silent.closed).toBe('nothing was heard from the client')
  expect(registry.size).toBe(2)
  release()
  await expect.poll(() => host.ended.map(({ id }) => id)).toEqual([silent.id, calling.id])
})

test('A12 past the limit the longest idle session makes room, and busy ones are not thrown out', async () => {
  const host = new RecordingHost()
  registry = new SessionRegistry(host, exec)
  const first = registry.open({ name: 'n0' }, { via: 'mcp-http' })
  for (let at = 1; at < 256; at++) registry.open({ name: `n${at}` }, { via: 'mcp-http' }).hold()
  registry.open({ name: 'late' }, { via: 'mcp-http' }).hold()
  expect(await first.closed).toBe('made room for a new session')
  expect(() => registry?.open({ name: 'later' }, { via: 'mcp-http' })).toThrow(/256 sessions are open/)
  expect(registry.size).toBe(256)
})
