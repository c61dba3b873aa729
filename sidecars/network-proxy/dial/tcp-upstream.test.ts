import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { TcpUpstream } from './tcp-upstream.ts'

const TOTAL_BYTES = 24 * 1024 * 1024
/** What one connection may read before others have their turn: one turn, and the read that ends it. */
const BOUND_BYTES = 1024 * 1024

// In a process of its own, so that it goes on sending while this one is busy.
const SENDER = `
  const piece = Buffer.alloc(1 << 20, 'x')
  const server = require('node:net').createServer((socket) => {
    let left = ${TOTAL_BYTES}
    const send = () => {
      while (left > 0) { left -= piece.length; if (!socket.write(piece)) return socket.once('drain', send) }
      socket.end()
    }
    socket.on('error', () => {})
    send()
  })
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

it('bulk data of one connection leaves turns to others, and arrives whole', async () => {
  const sender = spawn(process.execPath, ['-e', SENDER], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void sender.kill())
  const [port] = (await once(sender.stdout, 'data')) as [Buffer]
  let bytes = 0
  let inThisTurn = 0
  let mostInATurn = 0
  let ended = false
  const turn = () => {
    inThisTurn = 0
    if (!ended) setImmediate(turn)
  }
  turn()
  const upstream = new TcpUpstream('127.0.0.1', Number(port.toString()))
  await new Promise<void>((resolve) => {
    upstream.sink = {
      onBytes(piece) {
        bytes += piece.length
        inThisTurn += piece.length
        mostInATurn = Math.max(mostInATurn, inThisTurn)
        // A reader that takes its time: the next read finds a full buffer.
        for (const until = performance.now() + 1; performance.now() < until;);
      },
      onEnd: resolve,
      onClose() {},
    }
  })
  ended = true
  upstream.destroy()
  expect(bytes).toBe(TOTAL_BYTES)
  expect(mostInATurn).toBeLessThanOrEqual(BOUND_BYTES)
})
