import { afterEach, expect, test } from 'vitest'
import type { SessionId } from '../../protocol/ids.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import { isAlive } from '../../testing/is-alive.ts'
import { HeldGate, LocalExec } from '../../testing/local-exec.ts'
import { AgentProcess, type AgentProcessOptions } from './agent-process.ts'

const exec = new LocalExec()
afterEach(async () => {
  await exec.dispose()
  exec.gate = () => Promise.resolve()
  exec.downBecause = null
})

function start(shell: string, options: Partial<AgentProcessOptions> = {}): AgentProcess {
  return new AgentProcess(
    exec,
    { argv: ['/bin/sh', '-c', shell], cwd: '/tmp', env: {}, tty: false, pipeStdin: false },
    { id: 'p1', sessionId: 'ses_t' as SessionId, toolCallId: '7', isBackground: false, isKept: false, ...options },
  )
}
test('it is settled at its last byte, with its exit code', async () => {
  const process = start('printf one; printf two >&2; exit 7')
  expect(process.status).toBe('awaiting_approval')
  await process.settled
  expect({ status: process.status, exitCode: process.exitCode, bytes: process.output.totalBytes }).toEqual({
    status: 'exited',
    exitCode: 7,
    bytes: 6,
  })
  expect(process.isOver).toBe(true)
})

test('a denied command never ran and carries the words', async () => {
  exec.gate = () => Promise.reject(new RpcError('denied', 'not on a Friday'))
  const process = start('true')
  await process.settled
  expect(process).toMatchObject({ status: 'denied', reason: 'not on a Friday', durationMs: 0, onExecServer: undefined })
})

test('stopping while the owner is asked withdraws the question', async () => {
  const gate = new HeldGate()
  exec.gate = gate.ask
  const process = start('true')
  await process.stop()
  expect(process.status).toBe('stopped')
  expect(gate.withdrawn.map((command) => command.processId)).toEqual(['ses_t.p1'])
  expect(process.durationMs).toBe(0)
})

test('a start that is answered after the stop is ended at once', async () => {
  let allow: () => void = () => {}
  // A gate that cannot be withdrawn any more: the answer is already on its way.
  exec.gate = () => new Promise((resolve) => (allow = resolve))
  const process = start('sleep 300')
  const stopped = process.stop()
  allow()
  await stopped
  expect(process.status).toBe('stopped')
  expect(isAlive(exec.processes.at(-1)?.pid ?? 0)).toBe(false)
})

test('E25 a time limit ends the whole group, is named, and keeps the output so far', async () => {
  const process = start('(while :; do echo w; sleep 0.05; done) & echo $!; wait', { timeoutMs: 1_500 })
  await process.settled
  expect(process.status).toBe('timed_out')
  const { head } = process.output.show()
  expect(head).toContain('w\n')
  expect(isAlive(Number.parseInt(head, 10))).toBe(false)
})

test('E15 the result does not wait for a child that holds the output, and says so', async () => {
  const process = start('(sleep 30; echo late) & echo parent')
  await process.settled
  expect(process).toMatchObject({ status: 'exited', exitCode: 0, isOutputOpen: true, isOver: false })
  expect(process.output.show().head).toBe('parent\n')
  await process.stop()
  await expect.poll(() => process.isOutputOpen).toBe(false)
  expect(process.status).toBe('exited')
})

test('E18 stopping twice is no error', async () => {
  const process = start('sleep 300')
  await process.started
  await process.stop()
  await process.stop()
  expect(process.status).toBe('stopped')
})

test('without an exec server it fails with the reason', async () => {
  exec.downBecause = 'the exec server is being restarted'
  const process = start('true')
  await process.settled
  expect(process).toMatchObject({ status: 'failed', reason: 'the exec server is being restarted' })
})
