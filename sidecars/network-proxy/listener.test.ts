import { constants } from 'node:os'
import { connect } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { ClientConnection } from './client-connection.ts'
import { Listener } from './listener.ts'
import { eventually } from './test-kit/owner.ts'
import * as binding from '../tcp/tcp-binding.ts'
import { TcpSocket } from '../tcp/tcp-socket.ts'

vi.mock('../tcp/tcp-binding.ts', { spy: true })

it('an accept that fails, as without descriptors, is passed over, and the next connection is taken', async () => {
  const accepted: ClientConnection[] = []
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 }, (client) => accepted.push(client))
  onTestFinished(() => listener.close())
  onTestFinished(() => accepted.forEach(({ socket }) => socket.destroy()))
  const handle = vi.mocked(binding.listeningHandle).mock.results[0]!.value as binding.TcpHandle
  handle.onconnection!(-constants.errno.EMFILE, undefined)
  expect(accepted).toEqual([])
  const client = connect(listener.port, '127.0.0.1')
  onTestFinished(() => void client.destroy())
  await eventually(() => accepted.length === 1)
  expect(accepted[0]!.socket).toBeInstanceOf(TcpSocket)
})
