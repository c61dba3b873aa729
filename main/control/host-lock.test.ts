import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import { DataFolderError } from './data-folder.ts'
import { acquireHostLock, HostRunningError } from './host-lock.ts'

let folder: string
const problems: string[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-lock-'))
  problems.length = 0
})
afterEach(() => rmSync(folder, { recursive: true }))
const acquire = () => acquireHostLock(folder, (problem) => problems.push(problem))

test('a taken lock names its holder; a released one can be taken again and leaves no files', async () => {
  const lock = await acquire()
  expect(statSync(lock.path).mode & 0o777).toBe(0o600)
  const error = await acquire().catch((e: unknown) => e)
  expect(error).toBeInstanceOf(HostRunningError)
  expect(error).toMatchObject({ pid: process.pid, message: expect.stringContaining(`process ${process.pid}`) })
  lock.release()
  const again = await acquire()
  again.release()
  expect(readdirSync(folder)).toEqual([])
})

test('the lock of a dead process is replaced, whoever has its pid now', async () => {
  const child = spawn('sleep', ['60'])
  const identity = await readProcessIdentity(child.pid ?? 0)
  child.kill('SIGKILL')
  await once(child, 'exit')
  writeFileSync(join(folder, 'host.lock'), JSON.stringify(identity))
  const lock = await acquire()
  lock.release()
  writeFileSync(join(folder, 'host.lock'), JSON.stringify({ pid: process.pid, startedAt: 'another life' }))
  const next = await acquire()
  next.release()
  expect(problems).toEqual([])
})

test('of many that start at once over a dead lock exactly one wins', async () => {
  writeFileSync(join(folder, 'host.lock'), JSON.stringify({ pid: process.pid, startedAt: 'another life' }))
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, acquire))
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
})

test('a folder that cannot be written is named with what is wrong with it', async () => {
  writeFileSync(join(folder, 'file'), '')
  const path = join(folder, 'file', 'host.lock')
  await expect(acquireHostLock(join(folder, 'file'), () => {})).rejects.toThrow(
    new DataFolderError(`${path} cannot be written: a part of its path is not a folder (ENOTDIR)`),
  )
})

test('a corrupt lock is kept aside and reported', async () => {
  writeFileSync(join(folder, 'host.lock'), '{"pid":"x"}')
  const lock = await acquire()
  expect(problems).toEqual([expect.stringContaining('pid: expected a whole number, got a string')])
  const aside = readdirSync(folder).find((name) => name.startsWith('host.lock.corrupt-'))
  expect(readFileSync(join(folder, aside ?? ''), 'utf8')).toBe('{"pid":"x"}')
  lock.release()
})
