import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataFolderError, dataFolderPath, hostFolders, prepareHostFolders } from './data-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-data-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('GATEHOUSE_HOME names the data folder, else ~/.gatehouse', () => {
  expect(dataFolderPath({ GATEHOUSE_HOME: '/srv/gate' })).toBe('/srv/gate')
  expect(dataFolderPath({ GATEHOUSE_HOME: '' })).toBe(join(homedir(), '.gatehouse'))
})

test('a folder that depends on where one stands, or on no home at all, is refused with the variable named', () => {
  expect(() => dataFolderPath({ GATEHOUSE_HOME: 'gate' })).toThrow(
    'GATEHOUSE_HOME: expected an absolute path, got "gate"',
  )
  expect(() => dataFolderPath({}, '')).toThrow('HOME: expected an absolute path, got ""')
  expect(dataFolderPath({ GATEHOUSE_HOME: '/srv/gate' }, '')).toBe('/srv/gate')
})

test('the folders are made for the owner alone, and open ones are closed', () => {
  const dataDir = join(folder, 'new')
  mkdirSync(dataDir)
  chmodSync(dataDir, 0o755)
  expect(prepareHostFolders(dataDir)).toEqual({ dataDir, lockDir: join(dataDir, 'run'), runDir: join(dataDir, 'run') })
  for (const path of [dataDir, join(dataDir, 'run')]) expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a data folder with a long path keeps its sockets in a short folder, the same at every start', () => {
  const dataDir = join(folder, 'x'.repeat(100))
  const folders = prepareHostFolders(dataDir)
  expect(folders.lockDir).toBe(join(dataDir, 'run'))
  expect(folders.runDir.length).toBeLessThan(80)
  expect(statSync(folders.runDir).mode & 0o777).toBe(0o700)
  expect(hostFolders(dataDir)).toEqual(folders)
  expect(hostFolders(`${dataDir}y`).runDir).not.toBe(folders.runDir)
  rmSync(folders.runDir, { recursive: true })
})

test('a file in the way is a clear error with the next step', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => prepareHostFolders(join(folder, 'file'))).toThrow(DataFolderError)
  expect(() => prepareHostFolders(join(folder, 'file'))).toThrow(/file.*Set GATEHOUSE_HOME to a folder of your own/)
})

test('a symbolic link is followed, and one that leads nowhere is a clear error', () => {
  symlinkSync(join(folder, 'there'), join(folder, 'link'))
  expect(() => prepareHostFolders(join(folder, 'link'))).toThrow(
    /link is a symbolic link that leads nowhere.*GATEHOUSE_HOME/,
  )
  mkdirSync(join(folder, 'there'))
  expect(prepareHostFolders(join(folder, 'link')).dataDir).toBe(join(folder, 'link'))
  expect(statSync(join(folder, 'there')).mode & 0o777).toBe(0o700)
})

test('a folder that cannot be made, as on a read-only file system, is a clear error', () => {
  expect(() => prepareHostFolders('/proc/gatehouse')).toThrow(/\/proc\/gatehouse cannot be created: .*GATEHOUSE_HOME/)
})
