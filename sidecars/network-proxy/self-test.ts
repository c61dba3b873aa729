/**
 * Proves at the start that the proxy really decides: a host it must refuse is refused and an origin it
 * must let through is reached, over its own listener, like any client.
 */
import { randomBytes } from 'node:crypto'
import { connect, createServer, type AddressInfo } from 'node:net'
import { SELF_TEST_FAILED, type NetworkRule } from '../protocol/host-channel.ts'
import type { LeaseId, RuleId, SessionId } from '../protocol/ids.ts'
import type { Lease } from './leases.ts'
import type { ListenAt } from './listener.ts'

const FORBIDDEN_HOST = 'gatehouse-self-test.invalid'
const LIMIT_MS = 3000
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'

/** A session that exists for the test alone. */
export interface Trial {
  lease: Lease
  rules: NetworkRule[]
}

/** What the test borrows from the proxy. */
export interface SelfTestSubject {
  at: ListenAt
  /** Puts the trial in force beside the real rules until the function returned is called. */
  lend(trial: Trial): () => void
}

/** Resolves with what is wrong, one sentence each; empty when all is well. */
export async function selfTest(subject: SelfTestSubject): Promise<string[]> {
  const origin = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(ANSWER))
  })
  await new Promise<void>((resolve, reject) => {
    origin.once('error', reject)
    origin.listen(0, '127.0.0.1', resolve)
  })
  const { port } = origin.address() as AddressInfo
  const name = `self-test-${randomBytes(12).toString('hex')}`
  const lease: Lease = {
    leaseId: name as LeaseId,
    sessionId: name as SessionId,
    command: 'self-test',
    unrecorded: true,
  }
  const takeBack = subject.lend({ lease, rules: trialRules(lease.sessionId, port) })
  try {
    const [allowed, plain, tunnel] = await Promise.all([
      statusOf(subject.at, `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}`, name),
      statusOf(subject.at, `GET http://${FORBIDDEN_HOST}/ HTTP/1.1\r\nHost: ${FORBIDDEN_HOST}`, name),
      statusOf(subject.at, `CONNECT ${FORBIDDEN_HOST}:443 HTTP/1.1\r\nHost: ${FORBIDDEN_HOST}:443`, name),
    ])
    const problems: string[] = []
    // A deny rule of the owner for 127.0.0.1 rightly beats the trial.
    if (allowed !== 200 && allowed !== 403)
      problems.push(
        `${SELF_TEST_FAILED}: an allowed local origin answered ${allowed} through the proxy. Connections of agents will fail; restart the proxy.`,
      )
    if (plain !== 403 || tunnel !== 403)
      problems.push(
        `${SELF_TEST_FAILED}: a forbidden host was not refused (${plain} for HTTP, ${tunnel} for CONNECT). Do not rely on network rules; stop agents and report this.`,
      )
    return problems
  } finally {
    takeBack()
    origin.close()
  }
}

function trialRules(sessionId: SessionId, port: number): NetworkRule[] {
  const rule = { scope: 'session', sessionId } as const
  return [
    { ...rule, id: 'rul_self_test_allow' as RuleId, pattern: '127.0.0.1', port, verdict: 'allow' },
    { ...rule, id: 'rul_self_test_deny' as RuleId, pattern: FORBIDDEN_HOST, verdict: 'deny' },
  ]
}

/** Status that the proxy answers, or what went wrong instead. */
function statusOf({ host, port }: ListenAt, start: string, lease: string): Promise<number | string> {
  const credentials = Buffer.from(`${lease}:`).toString('base64')
  return new Promise((resolve) => {
    let received = ''
    const socket = connect({ host, port })
    const finish = (outcome: number | string) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(outcome)
    }
    const timer = setTimeout(() => finish('no answer'), LIMIT_MS)
    socket.on('error', (error) => finish((error as NodeJS.ErrnoException).code ?? 'an error'))
    socket.on('close', () => finish('a closed connection'))
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
      const status = /^HTTP\/1\.1 (\d{3})/.exec(received)
      if (status) finish(Number(status[1]))
    })
    socket.write(`${start}\r\nProxy-Authorization: Basic ${credentials}\r\nConnection: close\r\n\r\n`, 'latin1')
  })
}
