/** Decisions as JSON lines on disk, for a proxy that runs without a host. Never URLs, headers or paths. */
import { appendFile, rename, stat } from 'node:fs/promises'
import type { ConnectionFacts } from '../../protocol/host-channel.ts'
import type { ReportFacts } from './connection-log.ts'

const ROTATE_AT_BYTES = 10 * 1024 * 1024
const KEPT_FILES = 3

/** The protocol in the words of policy and audit. */
const TRANSPORT: Record<ConnectionFacts['protocol'], string> = {
  http: 'http',
  websocket: 'http',
  https: 'https_connect',
  socks5Tcp: 'socks5_tcp',
  socks5Udp: 'socks5_udp',
}

/**
 * A reader of connection facts that appends one line per decision to `path` (mode 0600), keeping three
 * rotated files beside it. A disk that fails costs lines, which `onProblem` hears of, and nothing else.
 */
export function auditWriter(path: string, onProblem: (problem: string) => void): ReportFacts {
  const written = new Set<string>()
  return async (facts) => {
    const lines: string[] = []
    for (const fact of facts) {
      const state = fact.state === 'asked' ? 'ask' : fact.verdict
      const key = `${fact.id} ${state}`
      if (state !== undefined && !written.has(key)) {
        written.add(key)
        lines.push(`${JSON.stringify(auditEvent(fact, state))}\n`)
      }
      if (fact.closedAtMs !== undefined) forget(written, fact.id)
    }
    if (lines.length === 0) return
    try {
      await rotate(path)
      await appendFile(path, lines.join(''), { mode: 0o600 })
    } catch (error) {
      onProblem(`audit file ${path}: ${(error as Error).message}; ${lines.length} decisions were not written`)
    }
  }
}

function forget(written: Set<string>, id: string): void {
  for (const state of ['ask', 'allow', 'deny']) written.delete(`${id} ${state}`)
}

/** One decision as an event; names follow the reference so that existing readers work. */
export function auditEvent(fact: ConnectionFacts, decision: string): Record<string, unknown> {
  const detail = (fact.detail ?? {}) as { source?: string }
  return {
    'event.name': 'gatehouse.network.policy_decision',
    'event.timestamp': new Date(fact.openedAtMs).toISOString(),
    'network.policy.scope': detail.source === 'mode_guard' || detail.source === 'proxy_state' ? 'non_domain' : 'domain',
    'network.policy.decision': decision,
    'network.policy.source': detail.source ?? (fact.requestId === undefined ? 'baseline_policy' : 'decider'),
    'network.policy.reason':
      fact.reason ?? (decision === 'allow' && fact.requestId === undefined ? 'allow' : 'not_allowed'),
    'network.transport.protocol': TRANSPORT[fact.protocol],
    'server.address': fact.host,
    'server.port': fact.port,
    'http.request.method': fact.method ?? 'none',
    'client.address': fact.clientAddress ?? 'unknown',
    ...(fact.leaseId === undefined ? {} : { 'execution.id': fact.leaseId }),
    'network.policy.override': decision === 'allow' && fact.requestId !== undefined,
  }
}

async function rotate(path: string): Promise<void> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size < ROTATE_AT_BYTES) return
  for (let n = KEPT_FILES - 1; n >= 0; n--) {
    const from = n === 0 ? path : `${path}.${n}`
    await rename(from, `${path}.${n + 1}`).catch(() => {
      // That many rotated files do not exist yet.
    })
  }
}
