import { afterEach, expect, test } from 'vitest'
import type { OutputPortFromServer, OutputPortFromView } from '../../preload/api.ts'
import { flowOutput, RESET_MODES, seqBeforeTail, type OutputSink } from './output-flow.ts'

/** A terminal that takes text only when told to. */
class SlowTerminal implements OutputSink {
  text = ''
  private readonly pending: (() => void)[] = []
  write(text: string | Uint8Array, taken: () => void): void {
    this.text += typeof text === 'string' ? text : new TextDecoder().decode(text)
    this.pending.push(taken)
  }
  take(count = this.pending.length): void {
    for (const taken of this.pending.splice(0, count)) taken()
  }
}

const open: MessagePort[] = []
afterEach(() => {
  for (const port of open.splice(0)) port.close()
})

function start(terminal: OutputSink = new SlowTerminal()) {
  const { port1, port2 } = new MessageChannel()
  open.push(port1, port2)
  const sent: OutputPortFromView[] = []
  port2.addEventListener('message', ({ data }) => sent.push(data as OutputPortFromView))
  port2.start()
  const events: string[] = []
  const detach = flowOutput(port1, terminal, {
    onTaken: ({ seq, stream }) => events.push(`taken ${seq} ${stream}`),
    onExited: ({ exitCode, exitSignal }) => events.push(`exited ${exitCode} ${exitSignal}`),
    onClosed: () => events.push('closed'),
    onFailed: (message) => events.push(`failed ${message}`),
  })
  const send = async (...messages: OutputPortFromServer[]): Promise<void> => {
    for (const message of messages) port2.postMessage(message)
    await settle()
  }
  return { sent, events, detach, send }
}
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))
const output = (seq: number, stream: 'stdout' | 'stderr' | 'pty', bytes: number[] | string): OutputPortFromServer => ({
  type: 'output',
  seq,
  stream,
  bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : new Uint8Array(bytes),
})

test('bytes are acknowledged when the terminal has taken them, not when they arrive', async () => {
  const terminal = new SlowTerminal()
  const { sent, send } = start(terminal)
  await send(output(1, 'pty', 'hello'), output(2, 'pty', 'world!'))
  expect(terminal.text).toBe('helloworld!')
  expect(sent).toEqual([])
  terminal.take(1)
  await settle()
  expect(sent).toEqual([{ type: 'ack', bytes: 5 }])
  terminal.take()
  await settle()
  expect(sent).toEqual([
    { type: 'ack', bytes: 5 },
    { type: 'ack', bytes: 6 },
  ])
})

test('a character cut in two by the other stream comes out whole, and its bytes are acknowledged', async () => {
  const terminal = new SlowTerminal()
  const { sent, send } = start(terminal)
  const euro = [0xe2, 0x82, 0xac]
  await send(output(1, 'stdout', euro.slice(0, 1)), output(2, 'stderr', '!'), output(3, 'stdout', euro.slice(1)))
  terminal.take()
  await settle()
  expect(terminal.text).toBe('!€')
  expect(sent.reduce((sum, message) => sum + (message.type === 'ack' ? message.bytes : 0), 0)).toBe(4)
})

test('a dropped range is drawn as a line that says how many bytes', async () => {
  const terminal = new SlowTerminal()
  const { send } = start(terminal)
  await send({ type: 'gap', fromSeq: 1, toSeq: 9, bytes: 1_234_567 }, output(10, 'stdout', 'after'))
  expect(terminal.text).toContain('1.2 MB of output are no longer kept')
  expect(terminal.text.endsWith('\r\nafter')).toBe(true)
})

test('E42 when the output ends, modes that a program left on are switched off', async () => {
  const terminal = new SlowTerminal()
  const { events, send } = start(terminal)
  await send(
    output(1, 'pty', '\x1b[?1049h\x1b[?1003h\x1b[?25l'),
    { type: 'exited', seq: 2, exitCode: 1, exitSignal: null },
    { type: 'closed', seq: 3 },
  )
  expect(terminal.text.endsWith(RESET_MODES)).toBe(true)
  expect(events).toEqual(['exited 1 null'])
  terminal.take()
  expect(events).toEqual(['exited 1 null', 'taken 1 pty', 'closed'])
})

test('detaching tells the sender, and nothing is acknowledged afterwards', async () => {
  const terminal = new SlowTerminal()
  const { sent, events, detach, send } = start(terminal)
  await send(output(1, 'stdout', 'late'))
  detach()
  terminal.take()
  await settle()
  expect(sent).toEqual([{ type: 'detach' }])
  expect(events).toEqual([])
})

test('a failure of the port is passed on', async () => {
  const { events, send } = start()
  await send({ type: 'failed', message: 'the exec server went away' })
  expect(events).toEqual(['failed the exec server went away'])
})

test('a terminal that opens late starts near the end', () => {
  expect(seqBeforeTail({ firstSeq: 1, nextSeq: 1, outputBytes: 0 }, 1_000)).toBe(0)
  expect(seqBeforeTail({ firstSeq: 1, nextSeq: 11, outputBytes: 900 }, 1_000)).toBe(0)
  expect(seqBeforeTail({ firstSeq: 1, nextSeq: 1_001, outputBytes: 100_000 }, 1_000)).toBe(990)
  expect(seqBeforeTail({ firstSeq: 995, nextSeq: 1_001, outputBytes: 100_000 }, 1_000)).toBe(994)
})
