import { access, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { withFileLock } from './file-lock.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-lock-'))
  path = join(folder, '.lock')
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(folder, { recursive: true })
})

describe('withFileLock', () => {
  it('names its holder while the work goes on, and is gone after it, also when the work failed', async () => {
    expect(await withFileLock(path, () => readFile(path, 'utf8'))).toBe(String(process.pid))
    await expect(withFileLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await expect(access(path)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('leaves no lock without a holder behind when the disk is full', async () => {
    const handle = await open(join(folder, 'other'), 'w')
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'writeFile').mockRejectedValueOnce(full)
    await handle.close()
    await expect(withFileLock(path, async () => 'done')).rejects.toBe(full)
    expect(await withFileLock(path, async () => 'done')).toBe('done')
  })

  it('is taken over from a process that is gone', async () => {
    await writeFile(path, '4194305')
    expect(await withFileLock(path, async () => 'done')).toBe('done')
  })

  it('gives up with the name of a holder that lives', async () => {
    await writeFile(path, String(process.ppid))
    await expect(withFileLock(path, async () => 'done', 50)).rejects.toThrow(`held by process ${process.ppid}`)
  })
})
