/** A request whose body the proxy cannot do what it has to with; nothing of it has been sent on. */
export class BodyRefused extends Error {
  constructor(
    readonly status: 413 | 415,
    problem: string,
  ) {
    super(problem)
    this.name = 'BodyRefused'
  }

  static tooLarge(maxBytes: number): BodyRefused {
    return new BodyRefused(413, `a hook has to look into the body, and it is larger than ${maxBytes} bytes`)
  }
}
