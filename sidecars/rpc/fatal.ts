import { writeSync } from 'node:fs'

/**
 * Writes to stderr before the next statement runs: a utility process loses what is still buffered when
 * it exits.
 */
export function writeStderrNow(text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0, attempts = 0; at < bytes.length && attempts < 100; attempts++)
    try {
      at += writeSync(2, bytes, at)
    } catch (error) {
      // EAGAIN: the pipe is full for the moment. Anything else: there is nobody left to tell.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
    }
}

/**
 * A failure nobody handled leaves the process in an unknown state: log it and end with code 1, on every
 * runtime (newer Electrons would only warn about a rejection).
 */
export function exitOnUnhandledFailure(name: string): void {
  // Nobody reads stderr any more, as when the host was killed: that is no reason to skip the shutdown.
  process.stderr.on('error', () => {})
  const die = (error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    writeStderrNow(`${name}: unhandled failure: ${text}\n`)
    process.exit(1)
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
}
