import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import {
  hostFilePath,
  keepCorruptHostFile,
  readHostFile,
  readLiveHostFile,
  removeHostFile,
  writeHostFile,
  type HostFile,
} from './host-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-file-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const sample = async (): Promise<HostFile> => ({
  ...(await readProcessIdentity(process.pid))!,
  instanceId: 'i',
  version: '0.1.0',
  kind: 'headless',
  controlSocket: '/run/control.sock',
  controlToken: 'c',
  mcpSocket: '/run/mcp.sock',
  agentToken: 'a',
  appServer: null,
  appServerWs: null,
  appServerToken: null,
  execSocket: null,
  execWs: 'ws://127.0.0.1:1',
  mcpHttp: null,
  proxyHttp: null,
})

test('what is written is read back, and only the owner can read it', async () => {
  const content = await sample()
  await writeHostFile(folder, content)
  expect(statSync(hostFilePath(folder)).mode & 0o777).toBe(0o600)
  expect(await readHostFile(folder)).toEqual(content)
  expect(await readLiveHostFile(folder)).toEqual(content)
  await removeHostFile(folder)
  await removeHostFile(folder)
  expect(await readHostFile(folder)).toBeUndefined()
})

test('the file of a host that was killed counts as none', async () => {
  await writeHostFile(folder, { ...(await sample()), startedAt: 'another life' })
  expect(await readLiveHostFile(folder)).toBeUndefined()
})

test('where there is no folder there is no host; what cannot be read is named', async () => {
  writeFileSync(join(folder, 'file'), '')
  expect(await readHostFile(join(folder, 'file'))).toBeUndefined()
  mkdirSync(hostFilePath(folder))
  await expect(readHostFile(folder)).rejects.toThrow('host.json cannot be read: it is a folder, not a file (EISDIR)')
})

test.each([
  ['{"pid":1', 'JSON'],
  ['{"pid":1,"startedAt":5}', 'startedAt: expected a string, got a number'],
])('a corrupt file %s is named with the field, and a starting host keeps it aside', async (text, problem) => {
  writeFileSync(hostFilePath(folder), text)
  await expect(readHostFile(folder)).rejects.toThrow(problem)
  const problems: string[] = []
  await keepCorruptHostFile(folder, (message) => problems.push(message))
  expect(problems).toEqual([expect.stringContaining('kept as ')])
  const [aside] = readdirSync(folder)
  expect(readFileSync(join(folder, aside ?? ''), 'utf8')).toBe(text)
})
