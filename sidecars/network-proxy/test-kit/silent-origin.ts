/** A port of this machine on which connecting neither succeeds nor fails. */
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { onTestFinished } from 'vitest'

// Listens with the shortest queue and then never accepts: once the queue is full, the kernel drops what
// comes. The thread sleeps for good and is ended with the test.
const LISTENER = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:net').createServer()
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
  })
`

export async function silentPort(): Promise<number> {
  const worker = new Worker(LISTENER, { eval: true })
  onTestFinished(() => void worker.terminate())
  const port = await new Promise<number>((resolve) => worker.once('message', resolve))
  const fillers: Socket[] = []
  onTestFinished(() => {
    for (const socket of fillers) socket.destroy()
  })
  // A filler that does not get through in this time shows that the queue is full. A connection that was made
  // meanwhile is heard of between the timer and the immediate, however late this thread gets to run.
  while (fillers.length < 16) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    fillers.push(socket)
    const connected = new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true))
      setTimeout(() => setImmediate(() => resolve(false)), 200)
    })
    if (!(await connected)) return port
  }
  throw new Error('the queue of the listener did not fill up')
}
