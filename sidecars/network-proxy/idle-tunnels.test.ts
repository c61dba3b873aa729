import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, it } from 'vitest'
import { echoOrigin } from './test-kit/origins.ts'
import { rules, startProxy, type FixtureOptions } from './test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from './test-kit/raw-client.ts'

// GATEHOUSE_MEASURE=1 opens two thousand and prints the figures of docs/performance.md. Client, origin and
// proxy share the process here, so memory is that of all three and delay an upper bound.
const measuring = process.env.GATEHOUSE_MEASURE === '1'
const TUNNELS = measuring ? 2000 : 300

async function openTunnels(httpPort: number, originPort: number): Promise<RawClient[]> {
  const tunnels: RawClient[] = []
  while (tunnels.length < TUNNELS) {
    const batch = await Promise.all(Array.from({ length: 25 }, () => RawClient.open(httpPort)))
    for (const client of batch) client.send(connectTo(`127.0.0.1:${originPort}`))
    await Promise.all(batch.map((client) => client.answer('HEAD')))
    tunnels.push(...batch)
  }
  return tunnels
}

/** Time of refusals beside the tunnels, in milliseconds, sorted. */
async function refusalTimes(httpPort: number, count: number): Promise<number[]> {
  const client = await RawClient.open(httpPort)
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now()
    await client.send(get(`http://127.0.0.2:${1 + n}/`)).answer()
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)
}

const REPORTS: [string, FixtureOptions['report']][] = [
  ['a quick reader of records', () => {}],
  ['a reader that never comes back', () => new Promise<void>(() => {})],
]

it.each(REPORTS)(
  'idle tunnels all still work, with %s',
  async (reader, report) => {
    const origin = await echoOrigin()
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1', 'deny 127.0.0.2'), report })
    const tunnels = await openTunnels(httpPort, origin.port)
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const times = await refusalTimes(httpPort, measuring ? 3000 : 100)
    delay.disable()
    if (measuring)
      console.log(
        `${TUNNELS} idle tunnels, ${reader}: refusal p50 ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms; ` +
          `event loop p99 ${(delay.percentile(99) / 1e6 - 5).toFixed(1)} ms beyond its 5 ms timer`,
      )
    for (const [n, tunnel] of tunnels.entries()) tunnel.send(`${n}\n`)
    const echoes = await Promise.all(tunnels.map((tunnel, n) => tunnel.take(`${n}\n`.length)))
    expect(echoes.map((bytes) => Number(bytes.toString()))).toEqual(tunnels.map((_, n) => n))
  },
  120_000,
)

function at(sorted: number[], share: number): string {
  return (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2)
}
