import { describe, expect, it } from 'vitest'
import { connection, NOON_MS } from '../testing/view-fixtures.ts'
import { connectionsAsHar } from './connection-har.ts'
import { connectionsAsJson } from './connection-json.ts'

const inspected = connection({
  id: 'con_2',
  host: 'api.example',
  state: 'closed',
  verdict: 'allow',
  reason: undefined,
  inspected: true,
  address: '203.0.113.7',
  openedAtMs: NOON_MS,
  closedAtMs: NOON_MS + 250,
  detail: {
    exchanges: [
      {
        atMs: NOON_MS + 100,
        method: 'POST',
        path: '/login?…',
        status: 302,
        requestHeaders: [
          ['Authorization', '[masked]'],
          ['Accept', '*/*'],
        ],
        responseHeaders: [
          ['Location', '/home'],
          ['Content-Type', 'text/html'],
        ],
      },
      { atMs: NOON_MS + 200, method: 'DELETE', path: '/x', reason: 'mitm_hook_denied', requestHeaders: [] },
    ],
  },
})
const tunnel = connection({ host: '2001:db8::1', openedAtMs: NOON_MS - 5 })
const socks = connection({ id: 'con_3', protocol: 'socks5Tcp', method: undefined, port: 22, openedAtMs: NOON_MS + 900 })

interface Har {
  log: { version: string; creator: unknown; entries: Record<string, unknown>[] }
}

const har = (...rows: Parameters<typeof connectionsAsHar>[0]): Har => JSON.parse(connectionsAsHar(rows, '1.2.3')) as Har

type Shape = { [key: string]: 'string' | 'number' | 'array' | 'url' | 'date' | Shape }
const MESSAGE: Shape = {
  httpVersion: 'string',
  cookies: 'array',
  headers: 'array',
  headersSize: 'number',
  bodySize: 'number',
}
/** Members that HAR 1.2 demands of an entry. */
const ENTRY: Shape = {
  startedDateTime: 'date',
  time: 'number',
  request: { ...MESSAGE, method: 'string', url: 'url', queryString: 'array' },
  response: {
    ...MESSAGE,
    status: 'number',
    statusText: 'string',
    redirectURL: 'string',
    content: { size: 'number', mimeType: 'string' },
  },
  cache: {},
  timings: { send: 'number', wait: 'number', receive: 'number' },
}

/** What is missing or of another type, by path. */
function faults(value: unknown, shape: Shape, path = 'entry'): string[] {
  return Object.entries(shape).flatMap(([key, wanted]) => {
    const found = (value as Record<string, unknown> | undefined)?.[key]
    const at = `${path}.${key}`
    if (typeof wanted === 'object') return typeof found === 'object' ? faults(found, wanted, at) : [at]
    if (wanted === 'array') return Array.isArray(found) ? [] : [at]
    if (wanted === 'url') return typeof found === 'string' && new URL(found).host !== '' ? [] : [at]
    if (wanted === 'date') return typeof found === 'string' && !Number.isNaN(Date.parse(found)) ? [] : [at]
    return typeof found === wanted ? [] : [at]
  })
}

describe('as HAR', () => {
  it('every entry has what the format demands, oldest first', () => {
    const { log } = har(socks, inspected, tunnel)
    expect(log).toMatchObject({ version: '1.2', creator: { name: 'Gatehouse', version: '1.2.3' } })
    expect(log.entries.flatMap((entry) => faults(entry, ENTRY))).toEqual([])
    const known =
      /^(?:startedDateTime|time|request|response|cache|timings|serverIPAddress|connection|comment|pageref|_\w+)$/
    expect(log.entries.flatMap((entry) => Object.keys(entry).filter((key) => !known.test(key)))).toEqual([])
    expect(log.entries.map(({ request }) => (request as { url: string }).url)).toEqual([
      'https://[2001:db8::1]:443/',
      'https://api.example:443/login',
      'https://api.example:443/x',
      'tcp://registry.example.org:22/',
    ])
  })

  it('an inspected request has its fields, masked as they came, and no query', () => {
    const [login, refused] = har(inspected).log.entries
    expect(login).toMatchObject({
      request: {
        method: 'POST',
        headers: [
          { name: 'Authorization', value: '[masked]' },
          { name: 'Accept', value: '*/*' },
        ],
      },
      response: { status: 302, redirectURL: '/home', content: { mimeType: 'text/html' } },
      serverIPAddress: '203.0.113.7',
      comment: 'The query was left out.',
    })
    expect(refused).toMatchObject({ response: { status: 0, statusText: 'mitm_hook_denied' } })
  })

  it('a connection nobody looked into says what it is', () => {
    expect(har(tunnel).log.entries).toMatchObject([
      {
        request: { method: 'CONNECT' },
        response: { status: 403, statusText: 'Blocked by Gatehouse policy' },
        _verdict: 'blocked',
        _reason: 'not_allowed',
        _process: 'npm test',
      },
    ])
  })
})

it('as JSON every row has the same members, and the requests inside', () => {
  const { exportedAt, connections } = JSON.parse(connectionsAsJson([tunnel, inspected], NOON_MS)) as {
    exportedAt: string
    connections: Record<string, unknown>[]
  }
  expect(exportedAt).toBe('2026-03-14T09:30:00.000Z')
  expect(connections[0]).toMatchObject({ host: '2001:db8::1', port: 443, verdict: 'blocked', rule: null, pid: 4121 })
  expect(connections[1]).toMatchObject({ verdict: 'allowed', exchanges: [{ path: '/login?…' }, { path: '/x' }] })
  const { exchanges: _, ...members } = connections[1]!
  expect(Object.keys(members)).toEqual(Object.keys(connections[0]!))
})
