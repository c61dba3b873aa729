import { spawn } from 'node:child_process'
import { expect, it, vi } from 'vitest'
import type { SessionFacts } from '../../sidecars/protocol/host-channel.ts'
import type { LeaseId } from '../../sidecars/protocol/ids.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { Shells } from './shells.ts'

vi.setConfig({ testTimeout: 20_000 })

function make(grant: () => Promise<{ leaseId: LeaseId; environment: Record<string, string> }>) {
  const opened: SessionFacts[] = []
  const closed: string[] = []
  const revoked: string[] = []
  const shells = new Shells({
    sessions: { open: (facts) => void opened.push(facts), close: (_id, reason) => void closed.push(reason ?? '') },
    leases: { grant, revoke: async (id) => void revoked.push(id) },
  })
  return { shells, opened, closed, revoked }
}
const granted = async () => ({ leaseId: 'lea_1' as LeaseId, environment: { HTTP_PROXY: 'http://127.0.0.1:9' } })

it('a terminal is a session with a lease until its shell has ended', async () => {
  const { shells, opened, closed, revoked } = make(granted)
  const shell = spawn('sleep', ['60'])
  expect(await shells.environment({ cwd: '/w', pid: shell.pid! })).toEqual({ HTTP_PROXY: 'http://127.0.0.1:9' })
  expect(opened).toMatchObject([{ agentName: 'You', via: 'command-line', cwd: '/w', pid: shell.pid }])
  shell.kill('SIGKILL')
  await vi.waitUntil(() => revoked.length === 1, { timeout: 15_000 })
  expect([closed, revoked]).toEqual([['the shell ended'], ['lea_1']])
  shells.stop()
})

it('opens nothing for a process that does not exist or without a proxy', async () => {
  const { shells, opened } = make(() => Promise.reject(new RpcError('unavailable', 'the network proxy is not running')))
  await expect(shells.environment({ cwd: '/', pid: 2 ** 30 })).rejects.toMatchObject({ code: 'notFound' })
  await expect(shells.environment({ cwd: '/', pid: process.pid })).rejects.toMatchObject({ code: 'unavailable' })
  expect(opened).toEqual([])
})
