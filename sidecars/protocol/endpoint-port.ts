/** The port of an endpoint's address; 0, which is any free port, when there is no such endpoint or it has none. */
export function portOfEndpoint(endpoint: string | undefined): number {
  const port = endpoint === undefined ? undefined : /^[a-z0-9]+:\/\/[^/]*:(\d{1,5})(\/|$)/.exec(endpoint)?.[1]
  return Number(port ?? 0)
}
