/** `gatehouse stdio-to-uds SOCKET`: joins stdin and stdout to a unix socket. */
import { connect } from 'node:net'
import type { Readable, Writable } from 'node:stream'

const USAGE = 'usage: gatehouse stdio-to-uds SOCKET'

export interface Stdio {
  stdin: Readable
  stdout: Writable
  stderr: Writable
}

/**
 * Copies both ways at once; the end of stdin ends only our half. Resolves with the exit code when the
 * socket has ended and stdout has everything, whether or not stdin is still open.
 */
export function stdioToUds(argv: string[], stdio: Stdio = process): Promise<number> {
  const [path] = argv
  const { stdin, stdout, stderr } = stdio
  const fail = (message: string, done: (code: number) => void) =>
    stderr.write(`gatehouse stdio-to-uds: ${message}\n`, () => done(1))
  return new Promise((resolve) => {
    if (path === '--help' || path === '-h') return stdout.write(`${USAGE}\n`, () => resolve(0))
    if (argv.length !== 1 || path === undefined) return fail(`exactly one socket path is expected\n${USAGE}`, resolve)
    if (process.platform === 'win32' && !path.startsWith('\\\\.\\pipe\\'))
      return fail(`${path}: Node reaches only named pipes (\\\\.\\pipe\\NAME) on Windows`, resolve)
    const socket = connect({ path, allowHalfOpen: true })
    let connected = false
    const finish = (code: number) => {
      stdin.unpipe(socket)
      stdin.pause()
      socket.destroy()
      resolve(code)
    }
    socket.once('connect', () => {
      connected = true
      stdin.pipe(socket)
    })
    socket.on('error', (error) => {
      const { code } = error as NodeJS.ErrnoException
      if (!connected) fail(`cannot connect to ${path}: ${error.message}`, finish)
      // The other side was faster with its end; what it had sent is on stdout already.
      else if (code === 'EPIPE' || code === 'ENOTCONN') finish(0)
      else fail(`${path}: ${error.message}`, finish)
    })
    socket.on('end', () => stdout.write('', () => finish(0)))
    // A reader of stdout that has enough is no error.
    stdout.on('error', () => finish(0))
    socket.pipe(stdout, { end: false })
  })
}
