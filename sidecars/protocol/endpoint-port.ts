/** The port of an endpoint's address; 0, which is any free port, when there is no such endpoint or it has none. */
export function portOfEndpoint(endpoint: string | undefined): number {
  if (endpoint === undefined || !URL.canParse(endpoint)) return 0
  return Number(new URL(endpoint).port)
}
