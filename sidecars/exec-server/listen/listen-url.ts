/** Where the server listens when it runs alone. */
export type ListenAddress = { kind: 'stdio' } | { kind: 'websocket'; host: string; port: number }

/** The value of `--listen` cannot be used; the message is the reference's own. */
export class ListenUrlError extends Error {
  override readonly name = 'ListenUrlError'
}

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/

/**
 * Reads `--listen`: `stdio`, `stdio://`, or `ws://IP:PORT` with a literal address (IPv6 in brackets)
 * and nothing behind the port. Port 0 means "pick one".
 * @throws ListenUrlError
 */
export function parseListenUrl(text: string): ListenAddress {
  if (text === 'stdio' || text === 'stdio://') return { kind: 'stdio' }
  if (!text.startsWith('ws://'))
    throw new ListenUrlError(`unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``)
  const match = /^(\[[0-9a-fA-F:.]+\]|[\d.]+):(\d{1,5})$/.exec(text.slice('ws://'.length))
  const host = match?.[1] ?? ''
  const port = Number(match?.[2] ?? Number.NaN)
  if (!isLiteralAddress(host) || !(port <= 65_535))
    throw new ListenUrlError(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``)
  return { kind: 'websocket', host: host.replace(/^\[|\]$/g, ''), port }
}

function isLiteralAddress(host: string): boolean {
  if (host.startsWith('[')) {
    try {
      return new URL(`ws://${host}/`).hostname.startsWith('[')
    } catch {
      return false
    }
  }
  return (
    IPV4.exec(host)
      ?.slice(1)
      .every((part) => Number(part) <= 255) ?? false
  )
}
