/** The port of an endpoint's address; 0, which is any free port, when there is no such endpoint or it has none. */
export function portOfEndpoint(endpoint: string | undefined): number {
  try {
    return endpoint === undefined ? 0 : Number(new URL(endpoint).port)
  } catch {
    // A path of a socket, for instance.
    return 0
  }
}
