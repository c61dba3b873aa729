import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { attachAgent, type AttachedAgent } from '../../testing/attached-agent.ts'
import { isAlive } from '../../testing/is-alive.ts'
import { HeldGate } from '../../testing/local-exec.ts'
import { factsOf, textOf } from '../../testing/mcp-line-client.ts'

let agent: AttachedAgent
beforeEach(async () => {
  agent = await attachAgent('legacy')
})
afterEach(() => agent.dispose())

test('E30 what is written arrives in order, and ending the input ends the reader', async () => {
  await agent.call('run_command', { argv: ['sha256sum'], stdin: true, background: true })
  await agent.call('write_stdin', { processId: 'p1', text: 'a\0b' })
  const last = await agent.call('write_stdin', { processId: 'p1', text: 'c\n', endInput: true })
  expect(factsOf(last)).toEqual({ acceptedBytes: 2, inputEnded: true })
  const hash = createHash('sha256').update('a\0bc\n').digest('hex')
  expect(factsOf(await agent.call('get_result', { processId: 'p1' })).output).toBe(`${hash}  -\n`)
})

test('E31 writing where nothing can be written says why and what to do', async () => {
  await agent.call('run_command', { argv: ['sleep', '300'], background: true })
  await agent.call('run_command', { argv: ['true'], stdin: true })
  const gate = new HeldGate()
  agent.exec.gate = gate.ask
  await agent.call('run_command', { argv: ['cat'], stdin: true, yieldMs: 1 })
  const answers = await Promise.all(
    ['p1', 'p2', 'p3'].map((processId) => agent.call('write_stdin', { processId, text: '\u0003' })),
  )
  expect(answers.map((answer) => answer.isError)).toEqual([true, true, true])
  expect(answers.map(textOf)).toEqual([
    'p1: has no open standard input; start the command with stdin: true or tty: true',
    'p2: is not running any more (exited)',
    'p3: still waits for a decision; write once it is running (get_result)',
  ])
})

test('stop_process ends the whole group; a second call is no error', async () => {
  await agent.call('run_command', { shell: 'sleep 300 & sleep 300', background: true })
  const stopped = await agent.call('stop_process', { processId: 'p1' })
  expect(factsOf(stopped)).toMatchObject({ status: 'stopped' })
  expect(isAlive(agent.exec.processes[0]?.pid ?? 0)).toBe(false)
  expect((await agent.call('stop_process', { processId: 'p1' })).isError).not.toBe(true)
})

test('an interrupt reaches the program and leaves the rest to it', async () => {
  await agent.call('run_command', {
    shell: 'trap "echo caught; exit 5" INT; echo ready; while :; do sleep 0.05; done',
    background: true,
  })
  await agent.call('read_output', { processId: 'p1', waitMs: 5000 })
  await agent.call('stop_process', { processId: 'p1', signal: 'interrupt' })
  expect(factsOf(await agent.call('get_result', { processId: 'p1' }))).toMatchObject({
    status: 'exited',
    exitCode: 5,
    output: 'ready\ncaught\n',
  })
})

test('stop_process withdraws a command that still waits for its decision', async () => {
  const gate = new HeldGate()
  agent.exec.gate = gate.ask
  await agent.call('run_command', { shell: 'echo x', yieldMs: 1 })
  expect(textOf(await agent.call('stop_process', { processId: 'p1' }))).toBe(
    'Withdrawn before a decision was made. Nothing was run.',
  )
  expect(gate.withdrawn).toHaveLength(1)
})

test('read_output follows a running process and tells the end', async () => {
  await agent.call('run_command', { shell: 'echo one; sleep 0.2; echo two', background: true })
  let text = ''
  let cursor: unknown
  for (;;) {
    const page = factsOf(
      await agent.call('read_output', { processId: 'p1', waitMs: 5000, ...(cursor === undefined ? {} : { cursor }) }),
    )
    text += page.output
    cursor = page.nextCursor
    if (page.atEnd) break
  }
  expect(text).toBe('one\ntwo\n')
})

test('a command that waits for its decision has an empty page, not an error', async () => {
  const gate = new HeldGate()
  agent.exec.gate = gate.ask
  await agent.call('run_command', { shell: 'echo x', yieldMs: 1 })
  expect(factsOf(await agent.call('read_output', { processId: 'p1' }))).toMatchObject({
    status: 'awaiting_approval',
    bytes: 0,
    atEnd: false,
  })
})

test('E03 bytes that are not text are marked in text and exact in base64', async () => {
  await agent.call('run_command', { argv: ['printf', 'a\\000b\\377\\376c\\n'] })
  expect(factsOf(await agent.call('read_output', { processId: 'p1' }))).toMatchObject({
    output: 'a\u2400b\ufffd\ufffdc\n',
    lossy: true,
  })
  const exact = factsOf(await agent.call('read_output', { processId: 'p1', encoding: 'base64' }))
  expect(exact.chunks).toEqual([
    { stream: 'stdout', base64: Buffer.from([0x61, 0, 0x62, 0xff, 0xfe, 0x63, 0x0a]).toString('base64') },
  ])
})

test('the list names every process of the session and of no other', async () => {
  const other = await attachAgent('legacy')
  await other.call('run_command', { argv: ['true'] })
  await agent.call('run_command', { argv: ['sh', '-c', 'exit 4'], cwd: '/' })
  await agent.call('run_command', { argv: ['sleep', '300'], background: true })
  expect(factsOf(await agent.call('list_processes'))).toEqual({
    processes: [
      expect.objectContaining({
        processId: 'p1',
        command: ['sh', '-c', 'exit 4'],
        cwd: '/',
        status: 'exited',
        exitCode: 4,
      }),
      expect.objectContaining({ processId: 'p2', status: 'running', background: true }),
    ],
  })
  await other.dispose()
})

test('status tells what waits, what runs, and what is wrong', async () => {
  const gate = new HeldGate()
  await agent.call('run_command', { argv: ['sleep', '300'], background: true })
  agent.exec.gate = gate.ask
  await agent.call('run_command', { argv: ['true'], yieldMs: 1 })
  agent.exec.downBecause = 'the exec server is being restarted'
  expect(factsOf(await agent.call('status'))).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    host: 'connected',
    execServer: 'down',
    session: agent.host.sessions[0]?.id,
    agent: 'Line Agent',
    cwd: '/tmp',
    awaitingApproval: 1,
    running: 1,
    problem: 'the exec server is being restarted',
  })
})
