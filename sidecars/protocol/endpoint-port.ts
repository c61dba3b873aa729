/** The port of an endpoint's address; 0, which is any free port, when there is no such endpoint or it has none. */
export function portOfEndpoint(endpoint: string | undefined): number {
  const port = endpoint === undefined ? undefined : /^[a-z0-9]+:\/\/[^/]*:(\d{1,5})(\/|$)/.exec(endpoint)?.[1]
  return Number(port ?? 0)
}

/**
 * Listens at the wanted port; where any would do (0), at the previous one (0: there was none) if it can still be
 * had. Rejects as `listen` does.
 */
export async function listenWhereItWas<L>(
  wanted: number,
  previous: number,
  listen: (port: number) => Promise<L>,
): Promise<L> {
  if (wanted !== 0 || previous === 0) return listen(wanted)
  return listen(previous).catch(() => listen(0))
}
