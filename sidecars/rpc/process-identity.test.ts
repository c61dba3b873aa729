import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import {
  descendantsOf,
  isSameProcess,
  parsePsTable,
  readProcessIdentity,
  readProcessTable,
  signalProcess,
} from './process-identity.ts'

test('a live process has an identity that stays, a dead one has none', async () => {
  const child = spawn('sleep', ['60'])
  const { pid = 0 } = child
  const identity = await readProcessIdentity(pid)
  expect(identity).toMatchObject({ pid })
  expect(await readProcessIdentity(pid)).toEqual(identity)
  expect(await isSameProcess({ pid, startedAt: 'another life' })).toBe(false)
  expect(await signalProcess({ pid, startedAt: 'another life' }, 'SIGKILL')).toBe(false)
  expect(await signalProcess(identity!, 'SIGKILL')).toBe(true)
  await once(child, 'exit')
  expect(await isSameProcess(identity!)).toBe(false)
  expect(await signalProcess(identity!, 'SIGKILL')).toBe(false)
})

test('names with spaces and parentheses do not confuse the process table', async () => {
  const child = spawn('sh', ['-c', 'exec sleep 60'], { argv0: 'a) R 1 (b' })
  const table = await readProcessTable()
  expect(table.find((entry) => entry.pid === child.pid)).toMatchObject({ ppid: process.pid })
  child.kill('SIGKILL')
  await once(child, 'exit')
})

test('everything below a process is found, in a session of its own too', async () => {
  const child = spawn('sh', ['-c', 'sleep 60 & setsid sleep 60 & echo up; wait'])
  await once(child.stdout, 'data')
  const { pid = 0 } = child
  const find = async () => descendantsOf(pid, await readProcessTable())
  let below = await find()
  while (!below.some((entry) => entry.sessionId === entry.pid)) below = await find()
  expect(below).toHaveLength(2)
  for (const entry of below) await signalProcess(entry, 'SIGKILL')
  await once(child, 'exit')
})

test('the table of ps on macOS is read, zombies left out', () => {
  const text = [
    '    1     0     1      0 Ss   Mon Nov 24 09:12:01 2025    ',
    '  501   500   501 ac1200 S+   Sun Nov 30 20:02:03 2025    ',
    '  502   501   501      0 Z    Sun Nov 30 20:02:04 2025    ',
    '',
  ].join('\n')
  expect(parsePsTable(text)).toEqual([
    { pid: 1, ppid: 0, pgid: 1, sessionId: 0, startedAt: 'Mon Nov 24 09:12:01 2025' },
    { pid: 501, ppid: 500, pgid: 501, sessionId: 0, startedAt: 'Sun Nov 30 20:02:03 2025' },
  ])
})
