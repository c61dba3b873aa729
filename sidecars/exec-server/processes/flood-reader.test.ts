import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SEED } from '../../testing/seed.ts'
import type { Child } from './child.ts'
import { CAN_READ_FLOODS, FloodReader, type FloodOptions } from './flood-reader.ts'
import { FLOOD_THREAD_SCRIPT, RING_BYTES } from './flood-thread-script.ts'
import type { FloodEvents } from './flood.ts'
import { startPtyChild } from './pty-child.ts'

const MIB = 1024 * 1024
const FLOOD = randomBytes(8 * MIB)
let folder: string
let file: string
/** Threads of this process without one of ours. */
let usualThreads: number
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-flood-'))
  file = join(folder, 'flood')
  // By a promise: from then on Node has all the threads of its own.
  await writeFile(file, FLOOD)
  usualThreads = threadsHere()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

class CountedFloods extends FloodReader {
  constructor(options: FloodOptions = {}) {
    // However busy the machine is.
    super({ minWaitingShare: 0, ...options })
  }
  asked = 0
  begun = 0
  over = 0
  /** Descriptor of the last one. */
  fd = -1

  override begin(fd: number, shareBytes: number, events: FloodEvents) {
    this.asked++
    const flood = super.begin(fd, shareBytes, {
      onBytes: (bytes) => events.onBytes(bytes),
      onOver: () => {
        this.over++
        events.onOver()
      },
    })
    if (flood) this.begun++
    if (flood) this.fd = fd
    return flood
  }
}

let floods: CountedFloods
let terminals: Terminal[]
beforeEach(() => {
  floods = new CountedFloods()
  terminals = []
})
afterEach(async () => {
  for (const terminal of terminals) terminal.stop()
  await expect.poll(mastersHere).toEqual([])
  floods.dispose()
  await expect.poll(threadsHere).toBe(usualThreads)
  expect(floods.over).toBe(floods.begun)
})

/** A program on a terminal that passes bytes on as they are. */
class Terminal {
  readonly child: Child
  readonly events: string[] = []
  bytes = 0
  isStopped = false
  /** Called with every piece, before it is counted. */
  onPiece: () => void = () => {}
  private readonly pieces: Buffer[] = []

  constructor(script: string) {
    this.child = startPtyChild(
      {
        program: '/bin/sh',
        argv: ['sh', '-c', `stty raw -echo; ${script}`],
        cwd: '/',
        environment: { PATH: process.env.PATH ?? '/usr/bin:/bin', FLOOD: file },
        closesInherited: true,
      },
      floods,
      {
        onOutput: (_stream, bytes, block) => {
          this.pieces.push(Buffer.from(bytes))
          block?.release()
          this.note('output')
          this.bytes += bytes.length
          this.onPiece()
        },
        onExit: () => this.note('exit'),
        onOutputEnd: () => this.note('end'),
      },
    )
    terminals.push(this)
  }

  /** Everything so far; compared as one, because a difference in 8 MiB takes minutes to print. */
  printed(): Buffer {
    return Buffer.concat(this.pieces)
  }
  async ended(): Promise<this> {
    await expect.poll(() => this.events.at(-1)).toBe('end')
    return this
  }
  async said(bytes: number): Promise<void> {
    await expect.poll(() => this.bytes).toBeGreaterThanOrEqual(bytes)
  }
  stop(): void {
    if (!this.isStopped && !this.events.includes('exit')) process.kill(-this.child.pid, 'SIGKILL')
    this.isStopped = true
    this.child.dispose()
  }

  private note(event: string): void {
    if (this.events.at(-1) !== event) this.events.push(event)
  }
}

const mastersHere = () => {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return targets.filter((target) => target.includes('ptmx'))
}
const threadsHere = () => readdirSync('/proc/self/task').length
const isWhole = (terminal: Terminal, expected = FLOOD) => terminal.printed().equals(expected)

/** Has the thread run, so that the next flood is read by it from its first 128 KiB on. */
async function warmUp(): Promise<void> {
  const before = floods.begun
  const terminal = new Terminal('exec yes')
  await expect.poll(() => floods.begun).toBeGreaterThan(before)
  terminal.stop()
  await expect.poll(mastersHere).toEqual([])
}

/** The same numbers in every run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

describe.skipIf(!CAN_READ_FLOODS)('a flood on a terminal', () => {
  it('is read by the thread, and every byte of it comes once and in order, before the exit', async () => {
    await warmUp()
    const before = floods.begun
    const terminal = await new Terminal('exec cat "$FLOOD"').ended()
    expect(floods.begun).toBeGreaterThan(before)
    expect(isWhole(terminal)).toBe(true)
    expect(terminal.events).toEqual(['output', 'exit', 'end'])
  })

  it('makes no thread when there is little of it', async () => {
    const terminal = await new Terminal('head -c 100000 "$FLOOD"').ended()
    expect(isWhole(terminal, FLOOD.subarray(0, 100_000))).toBe(true)
    expect(floods.asked).toBe(0)
  })

  it('stays whole when it is paused and resumed at random, from within what is handed on and from without', async () => {
    await warmUp()
    const random = randomFrom(SEED)
    const before = floods.begun
    const terminal = new Terminal('cat "$FLOOD" "$FLOOD"')
    const { child } = terminal
    const wait = new Int32Array(new SharedArrayBuffer(4))
    terminal.onPiece = () => {
      const chance = random()
      if (chance < 0.05) {
        child.pause()
        child.resume()
      } else if (chance < 0.1) {
        child.pause()
        setImmediate(() => child.resume())
      } else if (chance < 0.12) {
        child.pause()
        setTimeout(() => child.resume(), 3)
      } else if (chance < 0.15) {
        setImmediate(() => {
          child.pause()
          setTimeout(() => child.resume(), 2)
        })
      }
      // Long enough for the ring to run full.
      else if (chance < 0.16) Atomics.wait(wait, 0, 0, 8)
    }
    await terminal.ended()
    expect(isWhole(terminal, Buffer.concat([FLOOD, FLOOD])), `seed ${SEED}`).toBe(true)
    expect(floods.begun - before).toBeGreaterThan(1)
  })

  it('stays whole when every piece is answered with a pause and its end', async () => {
    await warmUp()
    const before = floods.begun
    const terminal = new Terminal('for i in 1 2 3 4 5 6 7 8; do cat "$FLOOD"; done')
    terminal.onPiece = () => {
      terminal.child.pause()
      terminal.child.resume()
    }
    expect(isWhole(await terminal.ended(), Buffer.concat(Array.from({ length: 8 }, () => FLOOD)))).toBe(true)
    expect(floods.begun - before).toBeGreaterThan(1)
  })

  it('leaves the thread to others while it is paused, reads nothing more and looks for nothing', async () => {
    await warmUp()
    const before = floods.begun
    const paused = new Terminal('exec cat "$FLOOD"')
    paused.onPiece = () => {
      if (floods.begun > before) paused.child.pause()
    }
    await expect.poll(() => floods.begun).toBe(before + 1)
    await expect.poll(() => floods.over).toBe(before + 1)
    await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('Immediate')
    const { bytes } = paused
    expect(bytes).toBeLessThan(FLOOD.length / 2)
    const other = await new Terminal('exec cat "$FLOOD"').ended()
    expect(isWhole(other)).toBe(true)
    expect(floods.begun).toBeGreaterThan(before + 1)
    expect(paused.bytes).toBe(bytes)
    paused.onPiece = () => {}
    paused.child.resume()
    expect(isWhole(await paused.ended())).toBe(true)
  })

  it('gives the terminal back when it stops, and takes it again', async () => {
    await warmUp()
    const before = floods.begun
    const terminal = new Terminal('cat "$FLOOD"; head -c 1 >/dev/null; cat "$FLOOD"')
    await terminal.said(FLOOD.length)
    await expect.poll(() => floods.over).toBe(floods.begun)
    await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('Immediate')
    const between = floods.begun
    expect(between).toBeGreaterThan(before)
    void terminal.child.write(Buffer.from('x'))
    expect(isWhole(await terminal.ended(), Buffer.concat([FLOOD, FLOOD]))).toBe(true)
    expect(floods.begun).toBeGreaterThan(between)
  })

  it('does not mix with another one', async () => {
    await warmUp()
    const both = [new Terminal('exec cat "$FLOOD"'), new Terminal('exec tac "$FLOOD"')] as const
    await Promise.all(both.map((terminal) => terminal.ended()))
    expect(isWhole(both[0])).toBe(true)
    // The lines of `tac` are those of the file, the last first.
    const lines = FLOOD.toString('latin1').split(/(?<=\n)/)
    expect(isWhole(both[1], Buffer.from(lines.reverse().join(''), 'latin1'))).toBe(true)
  })

  it('goes on when the child ends and others print on, and ends with them', async () => {
    await warmUp()
    const terminal = new Terminal('trap "" HUP; cat "$FLOOD" "$FLOOD" & head -c 1 >/dev/null')
    const before = floods.begun
    await expect.poll(() => floods.begun).toBeGreaterThan(before)
    void terminal.child.write(Buffer.from('x'))
    await terminal.ended()
    expect(isWhole(terminal, Buffer.concat([FLOOD, FLOOD]))).toBe(true)
  })

  it('can be let go of at any moment; nobody reads what has the number of its descriptor next', async () => {
    await warmUp()
    const fifo = join(folder, 'next')
    writeFileSync(fifo, 'nobody reads this')
    for (const when of ['inside', 'outside']) {
      const before = floods.begun
      const terminal = new Terminal('exec yes')
      const letGo = () => terminal.stop()
      terminal.onPiece = () => {
        if (floods.begun > before && when === 'inside') letGo()
      }
      await expect.poll(() => floods.begun).toBeGreaterThan(before)
      if (when === 'outside') letGo()
      await expect.poll(() => terminal.isStopped).toBe(true)
      await expect.poll(() => floods.over).toBe(floods.begun)
      const { bytes } = terminal
      // Until one has the number.
      const opened: number[] = []
      while (!opened.includes(floods.fd)) opened.push(openSync(fifo, 'r'))
      await warmUp()
      expect(terminal.bytes, when).toBe(bytes)
      const room = Buffer.alloc(100)
      for (const fd of opened) {
        expect(room.toString('latin1', 0, readSync(fd, room, 0, room.length, null)), when).toBe('nobody reads this')
        closeSync(fd)
      }
    }
  })
})

describe.skipIf(!CAN_READ_FLOODS)('the thread that reads floods', () => {
  /** Looks `looks` times at what its owner wants, and then comes `end`. */
  const endingBy = (end: string, looks: number) => `
    {
      const fs = require('node:fs')
      const { load } = Atomics
      let looks = 0
      Atomics.load = (...args) => {
        if (++looks === ${looks}) { ${end} }
        return load(...args)
      }
    }
    ${FLOOD_THREAD_SCRIPT}`

  it.each([
    ['is ended', 'process.exit(1)'],
    ['fails', 'throw new Error()'],
  ])('that %s in the middle takes nothing with it, and is not made again', async (_how, end) => {
    const mark = join(folder, end)
    floods = new CountedFloods({ script: endingBy(`fs.writeFileSync('${mark}', ''); ${end}`, 2_000) })
    const long = new Terminal('while :; do cat "$FLOOD" || exit; done')
    await expect.poll(() => existsSync(mark)).toBe(true)
    let begun = -1
    while (begun !== floods.begun) {
      ;({ begun } = floods)
      await long.said(long.bytes + 2 * FLOOD.length)
    }
    expect(begun).toBeGreaterThan(0)
    long.child.pause()
    const printed = long.printed()
    for (let at = 0; at < printed.length; at += FLOOD.length) {
      const piece = printed.subarray(at, at + FLOOD.length)
      expect(piece.equals(FLOOD.subarray(0, piece.length))).toBe(true)
    }
    expect(isWhole(await new Terminal('exec cat "$FLOOD"').ended())).toBe(true)
    expect(floods.begun).toBe(begun)
  })

  it.each([
    ['cannot be made', 0 as unknown as string],
    ['fails at once', 'throw new Error("no")'],
    ['has no script that can be read', '}'],
  ])('is done without when it %s', async (_how, script) => {
    floods = new CountedFloods({ script })
    expect(isWhole(await new Terminal('exec cat "$FLOOD"').ended())).toBe(true)
    expect(floods.asked).toBeGreaterThan(0)
    expect(floods.begun).toBe(0)
  })

  it('can be disposed of in the middle', async () => {
    await warmUp()
    const { begun } = floods
    const terminal = new Terminal('exec cat "$FLOOD"')
    await expect.poll(() => floods.begun).toBeGreaterThan(begun)
    floods.dispose()
    expect(isWhole(await terminal.ended())).toBe(true)
  })

  it('is ended when there was no flood for a while, and made anew for the next', async () => {
    floods = new CountedFloods({ idleMs: 50 })
    for (let i = 0; i < 2; i++) {
      const { begun } = floods
      const terminal = new Terminal('exec yes')
      await expect.poll(() => floods.begun).toBeGreaterThan(begun)
      expect(threadsHere()).toBeGreaterThan(usualThreads)
      terminal.stop()
      await expect.poll(threadsHere).toBe(usualThreads)
    }
  })

  it('reads no more than the ring holds before it is taken', async () => {
    await warmUp()
    const terminal = new Terminal('exec yes')
    const before = floods.begun
    await expect.poll(() => floods.begun).toBeGreaterThan(before)
    const { bytes } = terminal
    // The only thread that takes anything waits here.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    terminal.child.pause()
    await expect.poll(() => floods.over).toBe(floods.begun)
    expect(terminal.bytes - bytes).toBeLessThan(RING_BYTES)
  })
})
