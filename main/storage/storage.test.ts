import { lstat, mkdir, mkdtemp, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { describeDiskTrouble } from './disk-trouble.ts'
import { withFileLock } from '../../sidecars/rules/file-lock.ts'
import { keepAside } from './keep-aside.ts'
import { replaceFile } from './replace-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-storage-'))
})

describe('replaceFile', () => {
  it('writes a new file that only its owner can read', async () => {
    await replaceFile(join(folder, 'a.json'), 'one')
    expect(await readFile(join(folder, 'a.json'), 'utf8')).toBe('one')
    expect((await stat(join(folder, 'a.json'))).mode & 0o777).toBe(0o600)
    expect(await readdir(folder)).toEqual(['a.json'])
  })

  it('keeps a symbolic link and replaces what it points to', async () => {
    await writeFile(join(folder, 'real.json'), 'old')
    await symlink('real.json', join(folder, 'link.json'))
    await replaceFile(join(folder, 'link.json'), 'new')
    expect((await lstat(join(folder, 'link.json'))).isSymbolicLink()).toBe(true)
    expect(await readFile(join(folder, 'real.json'), 'utf8')).toBe('new')
  })

  it('leaves nothing behind when it fails', async () => {
    await mkdir(join(folder, 'taken'))
    await writeFile(join(folder, 'taken', 'x'), '')
    await expect(replaceFile(join(folder, 'taken'), 'new')).rejects.toThrow()
    await expect(replaceFile(join(folder, 'missing', 'a'), 'new')).rejects.toThrow('ENOENT')
    expect(await readdir(folder)).toEqual(['taken'])
  })
})

it('keepAside moves the bytes to a name with the time', async () => {
  await writeFile(join(folder, 'settings.json'), Buffer.from([0xff, 0x00]))
  const aside = await keepAside(join(folder, 'settings.json'), Date.UTC(2026, 2, 4, 5, 6, 7, 89))
  expect(aside).toBe(join(folder, 'settings.json.corrupt-20260304T050607089Z'))
  expect([...(await readFile(aside))]).toEqual([0xff, 0x00])
  expect(await readdir(folder)).toHaveLength(1)
})

describe('describeDiskTrouble', () => {
  it('names the free space when the disk is full', async () => {
    const error = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    expect(await describeDiskTrouble(error, join(folder, 'x'))).toMatch(
      /^the disk is full \(ENOSPC\); [\d,]+ MB free on the file system of /,
    )
  })
  it('says what it knows about other errors', async () => {
    expect(await describeDiskTrouble(Object.assign(new Error('x'), { code: 'EROFS' }), folder)).toBe(
      'the file system is read-only (EROFS)',
    )
    expect(await describeDiskTrouble(new Error('odd'), folder)).toBe('odd')
  })
})

describe('withFileLock', () => {
  it('lets one at a time in', async () => {
    const path = join(folder, 'lock')
    let inside = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 5 }, () =>
        withFileLock(path, async () => {
          most = Math.max(most, ++inside)
          await new Promise((resolve) => setTimeout(resolve, 1))
          inside--
        }),
      ),
    )
    expect(most).toBe(1)
    expect(await readdir(folder)).toEqual([])
  })

  it('E103 takes over from a dead holder and names a living one', async () => {
    const path = join(folder, 'lock')
    await writeFile(path, '999999999')
    expect(await withFileLock(path, async () => 'mine')).toBe('mine')
    await writeFile(path, String(process.pid))
    await expect(withFileLock(path, async () => 'mine', 20)).rejects.toThrow(`held by process ${process.pid}`)
  })

  it('is free again after work that failed', async () => {
    const path = join(folder, 'lock')
    await expect(withFileLock(path, () => Promise.reject(new Error('broke')))).rejects.toThrow('broke')
    expect(await readdir(folder)).toEqual([])
  })
})
