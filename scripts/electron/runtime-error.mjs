/** No usable Electron; `exitCode` tells scripts why, `message` tells people what to do. */
export class RuntimeError extends Error {
  constructor(exitCode, message) {
    super(message)
    this.name = 'RuntimeError'
    this.exitCode = exitCode
  }
}
