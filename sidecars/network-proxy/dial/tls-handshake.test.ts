import { createSecureContext } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rawOrigin } from '../test-kit/origins.ts'
import { eventually } from '../test-kit/owner.ts'
import { TcpUpstream } from './tcp-upstream.ts'
import { tlsHandshake } from './tls-handshake.ts'

describe('tlsHandshake', () => {
  // The runtime aborts the process when TLS is asked for on a handle that is gone.
  it.each(['destroyed', 'closed'] as const)(
    'of a connection that is %s while the roots are read fails',
    async (how) => {
      const origin = await rawOrigin(() => {})
      const raw = new TcpUpstream('127.0.0.1', origin.port)
      onTestFinished(() => raw.destroy())
      raw.sink = { onBytes() {}, onEnd() {}, onClose() {} }
      await new Promise<void>((resolve) => raw.socket.once('connect', resolve))
      await eventually(() => origin.sockets.size === 1)
      const closed = new Promise<void>((resolve) => raw.socket.once('close', resolve))
      const secureContext = async () => {
        if (how === 'destroyed') raw.destroy()
        else {
          for (const socket of origin.sockets) socket.resetAndDestroy()
          await closed
          // The handle is freed after its close was told.
          await new Promise((resolve) => setImmediate(resolve))
        }
        return createSecureContext()
      }
      await expect(tlsHandshake(raw, '127.0.0.1', { secureContext, handshakeTimeoutMs: 60_000 }, [])).rejects.toThrow(
        how === 'closed' ? 'ECONNRESET' : 'closed before the handshake',
      )
    },
  )
})
