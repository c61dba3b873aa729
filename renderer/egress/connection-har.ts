/** Connections as an HTTP Archive (HAR 1.2): each inspected request an entry, each other connection one. */
import type { ConnectionView } from '../../preload/api.ts'
import { hostAndPort } from '../components/host-name.ts'
import { readExchanges, type Exchange, type Header } from './exchanges.ts'
import { verdictOf } from './selectors.ts'

/** What the format calls "not known". */
const UNKNOWN = -1
const PHRASES: Record<string, string> = { blocked: 'Blocked by Gatehouse policy', failed: 'Connection failed' }

export function connectionsAsHar(rows: readonly ConnectionView[], version: string): string {
  const entries = rows
    .flatMap((row) => {
      const exchanges = readExchanges(row.detail)
      return exchanges.length === 0 ? [connectionEntry(row)] : exchanges.map((exchange) => exchangeEntry(row, exchange))
    })
    // The format asks for the oldest first.
    .sort((a, b) => (a.startedDateTime < b.startedDateTime ? -1 : a.startedDateTime > b.startedDateTime ? 1 : 0))
  const creator = JSON.stringify({ name: 'Gatehouse', version })
  const lines = entries.map((entry) => JSON.stringify(entry))
  return `{"log":{"version":"1.2","creator":${creator},"pages":[],"entries":[\n${lines.join(',\n')}\n]}}\n`
}

function exchangeEntry(row: ConnectionView, exchange: Exchange): Entry {
  const hasQuery = exchange.path.includes('?')
  const path = hasQuery ? exchange.path.slice(0, exchange.path.indexOf('?')) : exchange.path
  return entry(row, {
    atMs: exchange.atMs,
    method: exchange.method,
    url: `${scheme(row)}://${hostAndPort(row.host, row.port)}${path === '*' ? '/' : path}`,
    requestHeaders: exchange.requestHeaders,
    status: exchange.status ?? 0,
    statusText: exchange.reason ?? '',
    responseHeaders: exchange.responseHeaders ?? [],
    comment: hasQuery ? 'The query was left out.' : undefined,
  })
}

function connectionEntry(row: ConnectionView): Entry {
  const verdict = verdictOf(row)
  const isTunnel = row.protocol === 'https' && row.method === 'CONNECT'
  return entry(row, {
    atMs: row.openedAtMs,
    method: row.method ?? 'CONNECT',
    url: `${scheme(row)}://${hostAndPort(row.host, row.port)}/`,
    requestHeaders: [],
    status: verdict === 'blocked' ? 403 : isTunnel && verdict === 'allowed' ? 200 : 0,
    statusText: PHRASES[verdict] ?? '',
    responseHeaders: [],
    comment: 'Not inspected: host, port and byte counts are all that is known.',
  })
}

interface EntryParts {
  atMs: number
  method: string
  url: string
  requestHeaders: readonly Header[]
  status: number
  statusText: string
  responseHeaders: readonly Header[]
  comment: string | undefined
}
type Entry = ReturnType<typeof entry>

function entry(row: ConnectionView, parts: EntryParts) {
  const { atMs, method, url, requestHeaders, status, statusText, responseHeaders, comment } = parts
  const timeMs = row.closedAtMs === undefined ? 0 : Math.max(0, row.closedAtMs - row.openedAtMs)
  return {
    startedDateTime: new Date(atMs).toISOString(),
    time: timeMs,
    request: {
      method,
      url,
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: requestHeaders.map(headerObject),
      queryString: [],
      headersSize: UNKNOWN,
      bodySize: UNKNOWN,
    },
    response: {
      status,
      statusText,
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: responseHeaders.map(headerObject),
      content: { size: 0, mimeType: valueOf(responseHeaders, 'content-type') },
      redirectURL: valueOf(responseHeaders, 'location'),
      headersSize: UNKNOWN,
      bodySize: UNKNOWN,
    },
    cache: {},
    timings: { send: 0, wait: timeMs, receive: 0 },
    ...(row.address !== undefined && { serverIPAddress: row.address }),
    connection: row.id,
    ...(comment !== undefined && { comment }),
    _verdict: verdictOf(row),
    _reason: row.reason ?? null,
    _rule: row.ruleText,
    _process: row.command,
    _session: row.sessionTitle,
    _count: row.count,
    _bytesIn: row.bytesIn,
    _bytesOut: row.bytesOut,
  }
}

function headerObject([name, value]: Header): { name: string; value: string } {
  return { name, value }
}

function valueOf(headers: readonly Header[], wanted: string): string {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? ''
}

function scheme({ protocol, inspected }: ConnectionView): string {
  switch (protocol) {
    case 'socks5Tcp':
      return inspected ? 'https' : 'tcp'
    case 'socks5Udp':
      return 'udp'
    case 'websocket':
      return inspected ? 'wss' : 'ws'
    default:
      return protocol
  }
}
