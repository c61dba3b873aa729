/** A configuration that cannot be used. `field` is the key; the message names it, the problem and the next step. */
export class ConfigError extends Error {
  constructor(
    readonly field: string,
    problem: string,
  ) {
    super(`${field}: ${problem}`)
    this.name = 'ConfigError'
  }
}
