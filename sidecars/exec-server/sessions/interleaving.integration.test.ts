import { setTimeout as nap } from 'node:timers/promises'
import fc from '../../testing/fast-check.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { startTcpRelay, type TcpRelay } from '../../testing/tcp-relay.ts'
import { ExecClient, websocketConnector, type ExecProcess } from '../client/index.ts'
import { SEED } from '../../testing/seed.ts'

// GATEHOUSE_PROPERTY_RUNS=200 for a long run, GATEHOUSE_SEED to repeat one.
const RUNS = Number(process.env.GATEHOUSE_PROPERTY_RUNS ?? 5)

let server: ExecServerAlone
let relay: TcpRelay
beforeAll(async () => {
  server = await startExecServerAlone()
  relay = await startTcpRelay(server.url)
})
afterAll(async () => {
  await relay.close()
  await server.stop()
})

/** Prints as many further numbers as it reads, each on a line, until it reads `end`. */
const COUNTER = `stty raw -echo 2>/dev/null; echo 0
while read -r n && [ "$n" != end ]; do seq $((c + 1)) $((c += n)); done; exit 7`

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('print' as const), lines: fc.integer({ min: 1, max: 20_000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const), refusedMs: fc.constantFrom(0, 0, 30, 150) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('nap' as const), ms: fc.integer({ min: 0, max: 20 }) }) },
)

/** Everything that the process prints, read with a pause every so many pieces. */
async function readAll(process: ExecProcess, napEvery: number): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const output of process.output) {
    if (output.kind !== 'output') throw new Error(`output is missing: ${JSON.stringify(output)}`)
    chunks.push(output.bytes)
    if (napEvery > 0 && chunks.length % napEvery === 0) await nap(2)
  }
  return Buffer.concat(chunks).toString().replaceAll('\r', '')
}

it(`cut and slow connections lose, double and disorder nothing of a real process (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 25 }),
      fc.boolean(),
      fc.nat(4),
      async (steps, tty, napEvery) => {
        const client = new ExecClient({ connect: websocketConnector({ url: relay.url }), retryMs: 10 })
        try {
          const env = { PATH: '/usr/bin:/bin' }
          const process = await client.start({ argv: ['sh', '-c', COUNTER], cwd: '/tmp', env, tty, pipeStdin: true })
          // Typed before the terminal is raw, it would be echoed.
          const readers = [readAll(process, 0), readAll(process, napEvery)]
          if (tty) await nap(100)
          let total = 0
          for (const { do: what, ...one } of steps)
            if ('lines' in one) {
              total += one.lines
              await process.write(Buffer.from(`${one.lines}\n`))
            } else if ('refusedMs' in one) {
              relay.refuse(one.refusedMs > 0)
              relay.cut()
              await nap(one.refusedMs)
              relay.refuse(false)
            } else if (what === 'nap') await nap(one.ms)
          await process.write(Buffer.from('end\n'))
          const expected = Array.from({ length: total + 1 }, (_, i) => `${i}\n`).join('')
          for (const text of await Promise.all(readers)) expect(text === expected).toBe(true)
          expect((await process.exited).exitCode).toBe(7)
        } finally {
          await client.close()
        }
      },
    ),
    { numRuns: RUNS, seed: SEED },
  )
}, 600_000)
