import { Console } from 'node:console'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { LinesTransport } from './lines-transport.ts'

/** First argument of a sidecar whose host speaks JSON lines on stdin and stdout. */
export const HOST_CHANNEL_FLAG = '--host-channel'

/**
 * Takes stdin and stdout for the protocol. From here on `console` and `process.stdout` lead to stderr,
 * so that no library can write between two messages.
 */
export function takeHostChannel(): LinesTransport {
  const output = openStdout()
  Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr })
  globalThis.console = new Console(process.stderr, process.stderr)
  return new LinesTransport('host channel', process.stdin, output)
}

function openStdout(): Writable {
  try {
    return new Socket({ fd: 1, readable: false, writable: true })
  } catch {
    // A file or a terminal: somebody tries the channel by hand.
    return process.stdout
  }
}
