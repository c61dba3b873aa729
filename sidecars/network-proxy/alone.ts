/** The proxy as a command: `gatehouse proxy --http 127.0.0.1:0 --allow HOST --deny HOST`. */
import { parseArgs } from 'node:util'
import type { NetworkRule } from '../protocol/host-channel.ts'
import type { RuleId } from '../protocol/ids.ts'
import { bothFamilies } from './dial/resolver.ts'
import { parseHostPattern } from './policy/host-pattern.ts'
import { NetworkProxy } from './proxy.ts'

const USAGE = `usage: gatehouse proxy [--http HOST:PORT] [--allow HOST]... [--deny HOST]... [--json]

Runs the network proxy by itself. Hosts that no --allow names are refused.
  --http HOST:PORT   where to listen (default 127.0.0.1:3128; port 0 picks a free one)
  --allow, --deny    a host, *.host, **.host, each with an optional :port; repeatable; deny wins
  --json             print the addresses as one JSON line instead of the bare URL
`

/** Runs until SIGINT or SIGTERM; resolves with the exit code. */
export async function alone(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      http: { type: 'string', default: '127.0.0.1:3128' },
      allow: { type: 'string', multiple: true, default: [] },
      deny: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const rules = [...rulesOf(values.allow ?? [], 'allow'), ...rulesOf(values.deny ?? [], 'deny')]
  const [host, port] = splitAddress(values.http ?? '')
  const proxy = await NetworkProxy.start(
    {
      enabled: true,
      http: { host, port },
      mode: 'full',
      allowLocalBinding: false,
      unknownHost: 'block',
      limitedAllowsWebsocket: false,
      askTimeoutMs: 120_000,
    },
    rules,
    { report() {}, resolver: bothFamilies() },
  )
  const { httpUrl } = proxy
  process.stdout.write(values.json ? `${JSON.stringify({ http: httpUrl })}\n` : `${httpUrl}\n`)
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
  await proxy.close()
  return 0
}

function rulesOf(patterns: readonly string[], verdict: 'allow' | 'deny'): NetworkRule[] {
  return patterns.map((pattern) => {
    parseHostPattern(pattern, verdict)
    return { id: `rul_${verdict}_${pattern}` as RuleId, pattern, verdict, scope: 'always' }
  })
}

function splitAddress(text: string): [host: string, port: number] {
  const colon = text.lastIndexOf(':')
  return [text.slice(0, colon), Number(text.slice(colon + 1))]
}
