import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectUnix, listenUnix, SocketPathError, type UnixListener } from './unix-socket.ts'

let folder: string
const open: UnixListener[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-unix-'))
})
afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close()
  rmSync(folder, { recursive: true })
})
async function listen(path: string): Promise<UnixListener> {
  const listener = await listenUnix(path, (socket) => socket.end('hello'))
  open.push(listener)
  return listener
}

test('the socket is 0600 in a folder of 0700, and is gone after close', async () => {
  const path = join(folder, 'run', 'x.sock')
  const listener = await listen(path)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder, 'run')).mode & 0o777).toBe(0o700)
  await listener.close()
  expect(existsSync(path)).toBe(false)
})

test('closing ends the connections that are open', async () => {
  const path = join(folder, 'x.sock')
  const listener = await listenUnix(path, () => {})
  const socket = await connectUnix(path)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await listener.close()
  await closed
})

test('a socket left by a dead process is replaced', async () => {
  const path = join(folder, 'x.sock')
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script])
  expect(existsSync(path)).toBe(true)
  await listen(path)
  const socket = await connectUnix(path)
  socket.destroy()
})

test('a socket that answers is left alone', async () => {
  const path = join(folder, 'x.sock')
  await listen(path)
  await expect(listenUnix(path, () => {})).rejects.toThrow(`${path}: another process listens there`)
  const socket = await connectUnix(path)
  socket.destroy()
})

test('a file in the way is named and kept', async () => {
  const path = join(folder, 'x.sock')
  writeFileSync(path, 'precious')
  await expect(listenUnix(path, () => {})).rejects.toThrow('a file that is not a socket is in the way')
  expect(readFileSync(path, 'utf8')).toBe('precious')
})

test('a folder that others can reach is refused, not changed', async () => {
  const shared = join(folder, 'shared')
  mkdirSync(shared)
  chmodSync(shared, 0o755)
  await expect(listenUnix(join(shared, 'x.sock'), () => {})).rejects.toBeInstanceOf(SocketPathError)
  expect(statSync(shared).mode & 0o777).toBe(0o755)
})

test('a path too long for a socket is refused with the limit', async () => {
  const path = join(folder, 'd'.repeat(120), 'x.sock')
  await expect(listenUnix(path, () => {})).rejects.toThrow(/longer than the \d+ bytes a socket path may have/)
})

test('connecting to nothing fails with the code of the system', async () => {
  await expect(connectUnix(join(folder, 'none.sock'))).rejects.toMatchObject({ code: 'ENOENT' })
})
