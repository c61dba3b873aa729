import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../testing/fast-check.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProcessId, SessionId } from '../../protocol/ids.ts'
import type { Child } from '../processes/child.ts'
import { ManagedProcess } from '../processes/managed-process.ts'
import { OutputSpool } from '../processes/output-spool.ts'
import { readProcess } from '../processes/process-read.ts'
import type { Carrier, CarrierHandlers } from '../wire/carrier.ts'
import { MethodTable } from '../wire/method-table.ts'
import { WireConnection } from '../wire/wire-connection.ts'
import type { Fill } from '../wire/message-piece.ts'
import type { WrittenResult } from '../wire/written-result.ts'
import { SessionStore } from './session-store.ts'
import { SEED } from '../../testing/seed.ts'

/** To repeat a run. */

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-interleaving-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Event {
  method: string
  seq: number
  bytes: string
}

/** A client's end: takes messages as fast as the test says, and can be cut off with some unread. */
class ModelCarrier implements Carrier {
  readonly label = 'model'
  readonly kind = 'JSON-RPC message'
  readonly unread: string[] = []
  isCongested = false
  private handlers: CarrierHandlers | undefined

  get queuedBytes(): number {
    return this.unread.length
  }
  start(handlers: CarrierHandlers): void {
    this.handlers = handlers
  }
  sendText(text: string): void {
    this.unread.push(text)
    if (this.unread.length > 3) this.isCongested = true
  }
  sendFilled(sizeBytes: number, fill: Fill): void {
    // With an offset, as in a slab that others have written into.
    const target = Buffer.alloc(sizeBytes + 7)
    fill(target, 7)
    this.sendText(target.toString('utf8', 7))
  }
  sendParts(): Promise<void> {
    throw new Error('no answer here is that long')
  }
  pause(): void {}
  resume(): void {}
  close(reason: string): void {
    this.handlers?.onClose(reason)
  }
  /** The client reads `count` messages. */
  take(count: number): Event[] {
    const events = this.unread.splice(0, count).map((text) => {
      const { method, params } = JSON.parse(text) as { method: string; params: { seq: number; chunk?: string } }
      return { method, seq: params.seq, bytes: Buffer.from(params.chunk ?? '', 'base64').toString('latin1') }
    })
    if (this.isCongested && this.unread.length <= 1) {
      this.isCongested = false
      this.handlers?.onDrained()
    }
    return events
  }
}

/** A child that prints only while it is being read. */
class ModelChild implements Child {
  readonly pid = 1
  readonly stdin = 'none'
  readonly outputPaths: readonly string[] = []
  readonly queuedInputBytes = 0
  isPaused = false
  write(): void {}
  endInput(): void {}
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
  resize(): void {}
  dispose(): void {}
}

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('print' as const), size: fc.integer({ min: 1, max: 65_536 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('take' as const), count: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('resume' as const), pageBytes: fc.integer({ min: 0, max: 200_000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('exit' as const) }) },
)

describe('a client that reads slowly, is cut off and comes back', () => {
  it(`gets every event once and in order, whatever happens when (seed ${SEED})`, async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80 }), async (steps) => {
        const store = new SessionStore({ onOpened() {}, onClosed() {} })
        const seed = { sessionId: 's' as SessionId, clientProcessId: 'p', argv: ['x'], cwd: '/', tty: false }
        const spool = new OutputSpool(join(folder, `run-${run++}`), 1024 * 1024 * 1024)
        const process = new ManagedProcess('prc_1' as ProcessId, seed, spool, () => {})
        const child = new ModelChild()

        const connect = () => {
          const carrier = new ModelCarrier()
          const handshake = { initialize: () => ({}), initialized: () => true, requireReady() {} }
          const connection = new WireConnection(
            carrier,
            { kind: 'agent', via: 'm', address: '' },
            new MethodTable(),
            handshake,
            () => {},
          )
          connection.start()
          return { carrier, connection }
        }
        let current: ReturnType<typeof connect> | undefined = connect()
        const session = store.open('model', current.connection)
        session.add(process)
        process.begin(child, undefined)

        // What the client has, by number; a second delivery must be the same.
        const known = new Map<number, string>()
        const learn = (seq: number, what: string) => {
          expect(known.get(seq) ?? what).toBe(what)
          known.set(seq, what)
        }
        const contiguous = () => {
          let seq = 0
          while (known.has(seq + 1)) seq++
          return seq
        }
        const read = (count: number) => {
          for (const { method, seq, bytes } of current?.carrier.take(count) ?? []) learn(seq, `${method}:${bytes}`)
        }
        /** As a client recovers: by pages after what it has, then the missing number is the exit, the last the close. */
        const catchUp = async (pageBytes: number, signal: AbortSignal) => {
          for (let afterSeq = contiguous(); ;) {
            const result = (await readProcess(
              { processId: 'p', afterSeq, maxBytes: pageBytes, waitMs: 0 },
              session,
              signal,
            )) as WrittenResult
            const text = Buffer.alloc(result.sizeBytes)
            result.write(text, 0)
            const answer = JSON.parse(text.toString()) as {
              chunks: { seq: number; chunk: string }[]
              closed: boolean
              nextSeq: number
            }
            for (const { seq, chunk } of answer.chunks)
              learn(seq, `process/output:${Buffer.from(chunk, 'base64').toString('latin1')}`)
            if (answer.chunks.length === 0) {
              if (!answer.closed) return
              learn(answer.nextSeq - 1, 'process/closed:')
              for (let seq = 1; seq < answer.nextSeq; seq++) if (!known.has(seq)) learn(seq, 'process/exited:')
              return
            }
            afterSeq = answer.chunks.at(-1)?.seq ?? afterSeq
          }
        }

        let printed = 0
        const expected: string[] = []
        let hasExited = false
        const print = (size: number) => {
          const bytes = Buffer.from(Array.from({ length: size }, (_, i) => (printed + i) % 251))
          printed += size
          expected.push(bytes.toString('latin1'))
          process.onOutput('stdout', bytes, undefined)
        }
        for (const s of steps) {
          if (s.do === 'print' && !child.isPaused) print(s.size)
          else if (s.do === 'take') read(s.count)
          else if (s.do === 'turn') await new Promise((resolve) => setImmediate(resolve))
          else if (s.do === 'exit' && !hasExited) {
            hasExited = true
            process.onExit({ code: 3, signal: null })
          } else if (s.do === 'cut' && current) {
            current.connection.close('cut')
            current = undefined
            expect(child.isPaused).toBe(false)
          } else if (s.do === 'resume' && !current) {
            current = connect()
            store.resume(session.wireId, current.connection)
            await catchUp(s.pageBytes, current.connection.signal)
          }
        }
        if (!hasExited) process.onExit({ code: 3, signal: null })
        process.onOutputEnd()
        current?.connection.close('the last cut')
        current = connect()
        store.resume(session.wireId, current.connection)
        await catchUp(50_000, current.connection.signal)

        expect(contiguous()).toBe(process.closedSeq)
        expect(known.get(process.exitedSeq)).toBe('process/exited:')
        expect(known.get(process.closedSeq)).toBe('process/closed:')
        const outputs = [...known].sort(([a], [b]) => a - b).filter(([, what]) => what.startsWith('process/output:'))
        expect(outputs.map(([, what]) => what.slice('process/output:'.length)).join('')).toBe(expected.join(''))
        current.connection.close('done')
        process.dispose()
      }),
      { numRuns: 60, seed: SEED },
    )
  }, 120_000)
})
