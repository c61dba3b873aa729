import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A wire that a test can cut: passes bytes between its own port and a server's. */
export interface TcpRelay {
  /** The target's URL with the relay's port. */
  url: string
  /** Connections made so far. */
  count(): number
  /** Breaks every open connection; new ones are taken. */
  cut(): void
  /** While true, new connections are refused. */
  refuse(isRefusing: boolean): void
  close(): Promise<void>
}

/** Relays to the host and port of `targetUrl`. */
export async function startTcpRelay(targetUrl: string): Promise<TcpRelay> {
  const target = new URL(targetUrl)
  const open = new Set<Socket>()
  let connections = 0
  let isRefusing = false
  const server = createServer((near) => {
    connections++
    if (isRefusing) return near.destroy()
    const far = connect(Number(target.port), target.hostname)
    for (const [a, b] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(a)
      a.setNoDelay(true)
      a.pipe(b)
      a.on('error', () => b.destroy())
      a.on('close', () => {
        open.delete(a)
        b.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = new URL(targetUrl)
  own.port = String((server.address() as AddressInfo).port)
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    url: own.href.replace(/\/$/, ''),
    count: () => connections,
    cut,
    refuse: (value) => (isRefusing = value),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
}
