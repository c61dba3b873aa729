import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MethodCaller } from '../../testing/method-caller.ts'
import { MethodTable } from '../wire/method-table.ts'
import { registerFileMethods, type FileChange } from './file-methods.ts'

const NOT_FOUND = { code: -32004, message: 'No such file or directory (os error 2)' }
const NOT_A_FOLDER = { code: -32603, message: 'Not a directory (os error 20)' }
const IS_A_FOLDER = { code: -32603, message: 'Is a directory (os error 21)' }
const EXISTS = { code: -32603, message: 'File exists (os error 17)' }
const LOOP = { code: -32603, message: 'Too many levels of symbolic links (os error 40)' }
const b64 = (text: string) => Buffer.from(text).toString('base64')

let root: string
let caller: MethodCaller
let changes: FileChange[]
let refuse: Error | null
/** The place that a change is allowed for; undefined: where its path leads then. */
let decide: (change: FileChange) => string | undefined

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gatehouse-files-'))
  mkdirSync(join(root, 'd/sub'), { recursive: true })
  writeFileSync(join(root, 'f'), 'hello')
  writeFileSync(join(root, 'd/a'), 'A')
  symlinkSync('f', join(root, 'l'))
  symlinkSync('d', join(root, 'dl'))
  symlinkSync('nowhere', join(root, 'dangling'))
  symlinkSync('loop', join(root, 'loop'))
  execFileSync('mkfifo', [join(root, 'fifo')])
  changes = []
  refuse = null
  decide = () => undefined
  const table = new MethodTable()
  registerFileMethods(table, {
    policyContext: { temporaryDirectories: [], denied: [] },
    allowChange: async (change) => {
      changes.push(change)
      if (refuse) throw refuse
      return decide(change)
    },
  })
  caller = new MethodCaller(table)
})
afterEach(() => {
  caller.close()
  rmSync(root, { recursive: true, force: true })
})

const uri = (path: string) => `file://${root}/${path}`
const call = (method: string, params: Record<string, unknown>) => caller.call(`fs/${method}`, params)
const at = (path: string, more: Record<string, unknown> = {}) => ({ path: uri(path), ...more })
/** Expected errors are written down once for every root. */
const refused = (promise: Promise<unknown>) => expect(promise).rejects

describe('a change that was allowed for one place', () => {
  // Functions, because the folder is another one for each test.
  const CHANGES: [string, string, () => Record<string, unknown>][] = [
    ['writing a new file', 'writeFile', () => at('d/new', { dataBase64: b64('x') })],
    ['writing over a file', 'writeFile', () => at('d/a', { dataBase64: b64('x') })],
    ['opening a file for writing', 'open', () => at('d/new', { handleId: 'h', mode: 'replace' })],
    ['making a folder', 'createDirectory', () => at('d/made/below')],
    ['removing a file', 'remove', () => at('d/a')],
    ['removing a tree', 'remove', () => at('d/sub')],
    ['copying a file', 'copy', () => ({ sourcePath: uri('f'), destinationPath: uri('d/new'), recursive: false })],
    ['copying a tree', 'copy', () => ({ sourcePath: uri('e'), destinationPath: uri('d/new'), recursive: true })],
  ]
  beforeEach(() => {
    for (const name of ['e/sub/deep', 'd/sub/deep']) mkdirSync(join(root, name), { recursive: true })
    writeFileSync(join(root, 'e/a'), 'kept')
  })

  it.each(CHANGES)('%s does nothing once its folder was exchanged for a link', async (_, method, params) => {
    decide = ({ path }) => {
      renameSync(join(root, 'd'), join(root, 'moved'))
      symlinkSync('e', join(root, 'd'))
      return path
    }
    await expect(call(method, params())).rejects.toMatchObject({ code: expect.any(Number) })
    for (const folder of ['e', 'moved'])
      expect(readdirSync(join(root, folder), { recursive: true }).sort()).toEqual(['a', 'sub', 'sub/deep'])
    expect(readFileSync(join(root, 'e/a'), 'utf8')).toBe('kept')
  })

  it.each(CHANGES)('%s happens there, also when it was named through a link', async (_, method, params) => {
    decide = ({ path }) => path.replace('/dl/', '/d/')
    const through = JSON.stringify(params()).replaceAll('/d/', '/dl/')
    const before = snapshot()
    await call(method, JSON.parse(through) as Record<string, unknown>)
    expect(snapshot()).not.toEqual(before)
    expect(changes[0]?.path).toContain('/dl/')
  })

  it('a name that no text can hold is not asked about', async () => {
    await expect(call('writeFile', at('d/%FF', { dataBase64: b64('x') }))).rejects.toMatchObject({
      message: expect.stringContaining('is not UTF-8'),
    })
    expect(changes).toEqual([])
  })

  const snapshot = () =>
    (readdirSync(root, { recursive: true }) as string[]).sort().map((name) => {
      const isFile = lstatSync(join(root, name)).isFile()
      return isFile ? `${name} ${readFileSync(join(root, name), 'utf8')}` : name
    })
})

describe('fs/readFile', () => {
  it.each([['f'], ['l']])('gives the content of %s', async (path) => {
    expect(await call('readFile', at(path))).toEqual({ dataBase64: b64('hello') })
  })
  it('gives what is behind a link to a folder', async () => {
    expect(await call('readFile', at('dl/a'))).toEqual({ dataBase64: b64('A') })
  })
  it.each([
    ['dangling', NOT_FOUND],
    ['none', NOT_FOUND],
    ['loop', LOOP],
    ['f/x', NOT_A_FOLDER],
  ])('refuses %s', async (path, error) => refused(call('readFile', at(path))).toMatchObject(error))
  it.each([['d'], ['fifo'], ['s.sock']])('E118 refuses %s, which is no file, at once', async (path) => {
    execFileSync('python3', ['-c', `import socket;socket.socket(socket.AF_UNIX).bind('${root}/s.sock')`])
    await refused(call('readFile', at(path))).toMatchObject({
      code: -32600,
      message: `path \`${root}/${path}\` is not a file`,
    })
  })
  it.each([['/dev/zero'], ['/dev/tty'], ['/dev/full']])('E118 refuses the device %s', async (path) => {
    await refused(call('readFile', { path: `file://${path}` })).toMatchObject({ code: -32600 })
  })
  it('E118 gives the little that a file of /proc has', async () => {
    const { dataBase64 } = await call('readFile', { path: 'file:///proc/self/status' })
    expect(Buffer.from(dataBase64 as string, 'base64').toString()).toMatch(/^Name:/)
  })
  it.each([
    ['l', LOOP],
    ['dangling', LOOP],
    ['dl/a', NOT_A_FOLDER],
    ['none', NOT_FOUND],
  ])('without following links refuses %s', async (path, error) => {
    await refused(call('readFile', at(path, { followSymlinks: false }))).toMatchObject(error)
  })
  it('without following links gives a plain file', async () => {
    expect(await call('readFile', at('f', { followSymlinks: false }))).toEqual({ dataBase64: b64('hello') })
  })
  it('gives a large file whole, in parts', async () => {
    const content = Buffer.from(Uint8Array.from({ length: 5_000_000 }, (_, i) => (i * 13) % 251))
    writeFileSync(join(root, 'large'), content)
    const { dataBase64 } = await call('readFile', at('large'))
    expect(Buffer.compare(Buffer.from(dataBase64 as string, 'base64'), content)).toBe(0)
  })
  it('names that are not UTF-8 can be read', async () => {
    writeFileSync(Buffer.concat([Buffer.from(`${root}/bad`), Buffer.from([0xff])]), 'x')
    expect(await call('readFile', at('bad%FF'))).toEqual({ dataBase64: b64('x') })
  })
  it.each([
    ['/tmp/x', -32602, 'invalid URI: relative URL without a base'],
    ['http://x/', -32602, 'unsupported path URI scheme `http`'],
    ['file:///x?q', -32602, 'query parameters are not allowed in path URIs'],
    ['file://host/x', -32600, "'file://host/x' is invalid on 'linux'"],
  ])('refuses the path %s', async (path, code, message) => {
    await refused(call('readFile', { path })).toMatchObject({ code, message })
  })
  it('names the missing parameter', async () => {
    await refused(call('readFile', {})).toMatchObject({ code: -32602, message: expect.stringContaining('params.path') })
  })
})

describe('fs/writeFile', () => {
  it.each([
    ['new', 'new'],
    ['f', 'f'],
    ['l', 'f'],
    ['dangling', 'nowhere'],
    ['dl/new', 'd/new'],
  ])('writing %s writes %s', async (path, target) => {
    expect(await call('writeFile', at(path, { dataBase64: b64('new text') }))).toEqual({})
    expect(readFileSync(join(root, target), 'utf8')).toBe('new text')
  })
  it('shortens what was longer', async () => {
    await call('writeFile', at('f', { dataBase64: b64('x') }))
    expect(readFileSync(join(root, 'f'), 'utf8')).toBe('x')
  })
  it.each([
    ['no/x', NOT_FOUND],
    ['d', IS_A_FOLDER],
    ['f/x', NOT_A_FOLDER],
    ['loop', LOOP],
  ])('refuses %s', async (path, error) => {
    await refused(call('writeFile', at(path, { dataBase64: '' }))).toMatchObject(error)
  })
  it('E118 does not wait for a reader of a named pipe', async () => {
    await refused(call('writeFile', at('fifo', { dataBase64: b64('x') }))).toMatchObject({ code: -32603 })
  })
  it.each([['aGVsbG8'], ['aGVs bG8='], ['!!!!'], ['aGVsbG9='], ['aGV_']])(
    'refuses %s and touches nothing',
    async (text) => {
      await refused(call('writeFile', at('f', { dataBase64: text }))).toMatchObject({
        code: -32600,
        message: expect.stringMatching(/^fs\/writeFile requires valid base64 dataBase64: /),
      })
      expect(readFileSync(join(root, 'f'), 'utf8')).toBe('hello')
    },
  )
  it('a large text that goes wrong at its end touches nothing', async () => {
    const text = `${Buffer.alloc(17 * 1024 * 1024)
      .toString('base64')
      .slice(0, -4)}!!!!`
    await refused(call('writeFile', at('f', { dataBase64: text }))).toMatchObject({ code: -32600 })
    expect(readFileSync(join(root, 'f'), 'utf8')).toBe('hello')
  })
  it('a large file arrives whole', async () => {
    const content = Buffer.from(Uint8Array.from({ length: 18 * 1024 * 1024 }, (_, i) => (i * 7) % 253))
    await call('writeFile', at('large', { dataBase64: content.toString('base64') }))
    expect(Buffer.compare(readFileSync(join(root, 'large')), content)).toBe(0)
  })
  it.each([
    ['l', LOOP],
    ['dl/new', NOT_A_FOLDER],
  ])('without following links refuses %s', async (path, error) => {
    const params = at(path, { dataBase64: '', followSymlinks: false })
    await refused(call('writeFile', params)).toMatchObject(error)
    expect(existsSync(join(root, 'd/new'))).toBe(false)
  })
})

describe('fs/createDirectory', () => {
  it.each([
    ['c', {}],
    ['c/x/y', {}],
    ['d', {}],
    ['dl', {}],
    ['c', { recursive: false }],
    ['c/x/y', { followSymlinks: false }],
    ['c', { recursive: null }],
  ])('makes %s with %j', async (path, more) => {
    expect(await call('createDirectory', at(path, more))).toEqual({})
    expect(statSync(join(root, path)).isDirectory()).toBe(true)
  })
  it.each([
    ['d', { recursive: false }, EXISTS],
    ['c/x', { recursive: false }, NOT_FOUND],
    ['f', {}, EXISTS],
    ['l', {}, EXISTS],
    ['dangling', {}, EXISTS],
    ['dangling/x', {}, EXISTS],
    ['f/x', {}, NOT_A_FOLDER],
    ['dl/c', { followSymlinks: false }, NOT_A_FOLDER],
    ['dl', { followSymlinks: false }, NOT_A_FOLDER],
  ])('refuses %s with %j', async (path, more, error) => {
    await refused(call('createDirectory', at(path, more))).toMatchObject(error)
  })
  it('ends where the system says that something is missing although the parent is there', async () => {
    await refused(call('createDirectory', { path: 'file:///proc/gatehouse/x' })).toMatchObject(NOT_FOUND)
  })
})

describe('fs/getMetadata', () => {
  it.each([
    ['f', { isFile: true, isDirectory: false, isSymlink: false, size: 5 }],
    ['l', { isFile: true, isDirectory: false, isSymlink: true, size: 5 }],
    ['d', { isFile: false, isDirectory: true, isSymlink: false }],
    ['dl', { isFile: false, isDirectory: true, isSymlink: true }],
    ['fifo', { isFile: false, isDirectory: false, isSymlink: false }],
    ['', { isDirectory: true, isSymlink: false }],
  ])('of %s', async (path, facts) => {
    expect(await call('getMetadata', at(path))).toMatchObject(facts)
  })
  it('has whole milliseconds', async () => {
    const { modifiedAtMs, createdAtMs } = await call('getMetadata', at('f'))
    expect([modifiedAtMs, createdAtMs].every(Number.isSafeInteger)).toBe(true)
    expect(Math.abs((modifiedAtMs as number) - Date.now())).toBeLessThan(60_000)
  })
  it.each([
    ['none', {}, NOT_FOUND],
    ['dangling', {}, NOT_FOUND],
    ['f/x', {}, NOT_A_FOLDER],
    ['l', { followSymlinks: false }, { code: -32600, message: 'path contains a symbolic link' }],
    ['dangling', { followSymlinks: false }, { code: -32600, message: 'path contains a symbolic link' }],
    ['dl/a', { followSymlinks: false }, NOT_A_FOLDER],
    ['dl/none', { followSymlinks: false }, NOT_A_FOLDER],
    ['dangling/none', { followSymlinks: false }, NOT_A_FOLDER],
    ['none/below', { followSymlinks: false }, NOT_FOUND],
  ])('refuses %s with %j', async (path, more, error) => {
    await refused(call('getMetadata', at(path, more))).toMatchObject(error)
  })
})

it.each([
  ['d', 'd'],
  ['l', 'f'],
  ['dl/a', 'd/a'],
])('fs/canonicalize leads %s to %s', async (path, real) => {
  expect(await call('canonicalize', at(path))).toEqual({ path: uri(real) })
})

describe('fs/readDirectory', () => {
  it('resolves links, leaves out dangling ones', async () => {
    const { entries } = (await call('readDirectory', at(''))) as { entries: { fileName: string }[] }
    expect(entries.sort((a, b) => (a.fileName < b.fileName ? -1 : 1))).toEqual([
      { fileName: 'd', isDirectory: true, isFile: false },
      { fileName: 'dl', isDirectory: true, isFile: false },
      { fileName: 'f', isDirectory: false, isFile: true },
      { fileName: 'fifo', isDirectory: false, isFile: false },
      { fileName: 'l', isDirectory: false, isFile: true },
    ])
  })
  it.each([
    ['f', NOT_A_FOLDER],
    ['none', NOT_FOUND],
    ['loop', LOOP],
  ])('refuses %s', async (path, error) => refused(call('readDirectory', at(path))).toMatchObject(error))
})

describe('fs/walk', () => {
  const limits = { maxDepth: 3, maxDirectories: 100, maxEntries: 100, followDirectorySymlinks: false }
  const walked = async (more: Record<string, unknown> = {}, path = '') => {
    const result = await call('walk', at(path, { options: { ...limits, ...more } }))
    const entries = result.entries as { path: string; kind: string }[]
    return { ...result, entries: entries.map((e) => `${e.path.replace(`${uri('')}`, '')} ${e.kind}`) }
  }
  beforeEach(() => {
    mkdirSync(join(root, '.hidden/in'), { recursive: true })
  })

  it('is breadth first and sorted, without links', async () => {
    expect(await walked()).toEqual({
      entries: ['.hidden directory', 'd directory', 'f file', '.hidden/in directory', 'd/a file', 'd/sub directory'],
      errors: [],
      truncated: false,
    })
  })
  it('follows links to folders when asked, entering each real folder once', async () => {
    symlinkSync('..', join(root, 'd/up'))
    const { entries } = await walked({ followDirectorySymlinks: true })
    expect(entries).toContain('dl directory')
    expect(entries).toContain('d/up directory')
    expect(entries.filter((e) => /\ba file/.test(e))).toEqual(['d/a file'])
  })
  it.each([
    [{ maxDepth: 0 }, ['.hidden directory', 'd directory', 'f file'], false],
    [{ maxEntries: 2 }, ['.hidden directory', 'd directory'], true],
    [{ maxDirectories: 1 }, ['.hidden directory', 'd directory', 'f file'], true],
    [
      { pruneHiddenDirectories: true },
      ['.hidden directory', 'd directory', 'f file', 'd/a file', 'd/sub directory'],
      false,
    ],
  ])('with %j', async (more, entries, truncated) => {
    expect(await walked(more)).toEqual({ entries, errors: [], truncated })
  })
  it('counts links and special files that it does not list, but no links that lead nowhere', async () => {
    // .hidden, d, dl, f, fifo, l; then what is in folders.
    expect(await walked({ maxEntries: 6 })).toMatchObject({
      entries: ['.hidden directory', 'd directory', 'f file'],
      truncated: true,
    })
    expect(await walked({ maxEntries: 9 })).toMatchObject({ truncated: false })
    expect(await walked({ maxEntries: 8 })).toMatchObject({ truncated: true })
  })
  it.each([['f'], ['dl'], ['fifo']])('of %s is empty', async (path) => {
    expect(await walked({}, path)).toEqual({ entries: [], errors: [], truncated: false })
  })
  it.each([[{ maxDepth: 65 }], [{ maxDepth: 2 ** 64 }], [{ maxDirectories: 10_001 }], [{ maxEntries: 50_001 }]])(
    'refuses %j',
    async (more) => {
      await refused(walked(more)).toMatchObject({
        code: -32600,
        message: 'filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000',
      })
    },
  )
  it.each([[{ maxDirectories: 0 }], [{ maxEntries: 0 }]])('refuses %j', async (more) => {
    await refused(walked(more)).toMatchObject({
      code: -32600,
      message: 'filesystem walk limits must be greater than zero',
    })
  })
  it('needs its options', async () => refused(call('walk', at(''))).toMatchObject({ code: -32602 }))
})

describe('fs/remove', () => {
  it.each([
    ['f', {}],
    ['l', {}],
    ['dl', {}],
    ['d', {}],
    ['loop', { recursive: false }],
    ['fifo', { recursive: false }],
    ['d/sub', { recursive: false }],
    ['none', {}],
    ['none/below', {}],
    ['none', { recursive: false, followSymlinks: false }],
  ])('of %s with %j', async (path, more) => {
    expect(await call('remove', at(path, more))).toEqual({})
    expect(lstatSync(join(root, path), { throwIfNoEntry: false })).toBeUndefined()
    if (path === 'dl') expect(existsSync(join(root, 'd/a'))).toBe(true)
    if (path === 'l') expect(existsSync(join(root, 'f'))).toBe(true)
  })
  it.each([
    ['none', { force: false }, NOT_FOUND],
    ['d', { recursive: false }, { code: -32603, message: 'Directory not empty (os error 39)' }],
    ['f/x', {}, NOT_A_FOLDER],
    ['d', { followSymlinks: false }, { code: -32603, message: 'recursive no-follow removal is unsupported' }],
    ['dl/a', { recursive: false, followSymlinks: false }, NOT_A_FOLDER],
    ['l', { recursive: false, followSymlinks: false }, { code: -32600, message: 'path contains a symbolic link' }],
  ])('refuses %s with %j', async (path, more, error) => {
    await refused(call('remove', at(path, more))).toMatchObject(error)
  })
})

describe('fs/copy', () => {
  const copy = (from: string, to: string, recursive = false) =>
    call('copy', { sourcePath: uri(from), destinationPath: uri(to), recursive })

  it('keeps content and mode, also over an existing file', async () => {
    writeFileSync(join(root, 'tool'), '#!/bin/sh\n', { mode: 0o755 })
    await copy('tool', 'd/a')
    expect(readFileSync(join(root, 'd/a'), 'utf8')).toBe('#!/bin/sh\n')
    expect(statSync(join(root, 'd/a')).mode & 0o777).toBe(0o755)
  })
  it('copies a link as a link', async () => {
    await copy('dangling', 'copied')
    expect(readlinkSync(join(root, 'copied'))).toBe('nowhere')
  })
  it('copies a folder with everything in it', async () => {
    symlinkSync('a', join(root, 'd/la'))
    await copy('d', 'd2', true)
    expect(readdirSync(join(root, 'd2')).sort()).toEqual(['a', 'la', 'sub'])
  })
  it('copies a folder into one that is there, and makes what is missing above', async () => {
    mkdirSync(join(root, 'there/sub'), { recursive: true })
    writeFileSync(join(root, 'there/a'), 'old')
    writeFileSync(join(root, 'there/sub/kept'), 'kept')
    await copy('d', 'there', true)
    expect(readFileSync(join(root, 'there/a'), 'utf8')).toBe('A')
    expect(readFileSync(join(root, 'there/sub/kept'), 'utf8')).toBe('kept')
    await copy('d', 'no/such/folder', true)
    expect(readdirSync(join(root, 'no/such/folder')).sort()).toEqual(['a', 'sub'])
  })
  it('a folder does not get into itself by folders that are missing yet', async () => {
    await refused(copy('d', 'dl/no/in', true)).toMatchObject({ code: -32600 })
    expect(readdirSync(join(root, 'd')).sort()).toEqual(['a', 'sub'])
  })
  it.each([
    ['f', 'f'],
    ['f', 'l'],
  ])('of a file (%s) onto itself (%s) leaves its content alone', async (from, to) => {
    await copy(from, to)
    expect(readFileSync(join(root, 'f'), 'utf8')).toBe('hello')
  })
  it('onto a hard link of itself leaves its content alone', async () => {
    linkSync(join(root, 'f'), join(root, 'hard'))
    await copy('f', 'hard')
    expect(readFileSync(join(root, 'f'), 'utf8')).toBe('hello')
  })
  it.each([
    ['d', 'x', false, { code: -32600, message: 'fs/copy requires recursive: true when sourcePath is a directory' }],
    [
      'd',
      'd/in',
      true,
      { code: -32600, message: 'fs/copy cannot copy a directory to itself or one of its descendants' },
    ],
    ['d', 'd', true, { code: -32600, message: 'fs/copy cannot copy a directory to itself or one of its descendants' }],
    [
      'd',
      'dl/in',
      true,
      { code: -32600, message: 'fs/copy cannot copy a directory to itself or one of its descendants' },
    ],
    ['fifo', 'x', false, { code: -32600, message: 'fs/copy only supports regular files, directories, and symlinks' }],
    ['none', 'x', false, NOT_FOUND],
    ['f', 'no/x', false, NOT_FOUND],
    ['f', 'd', false, IS_A_FOLDER],
    ['d', 'f', true, EXISTS],
    ['d', 'dl', true, { code: -32600 }],
    ['l', 'f', false, EXISTS],
  ])('%s to %s (recursive: %s) is refused', async (from, to, recursive, error) => {
    await refused(copy(from, to, recursive)).toMatchObject(error)
  })
})

describe('file handles', () => {
  const open = (handleId: string, path = 'f', mode?: string) => call('open', at(path, { handleId, mode }))

  it.each([
    [0, 3, 'hel', false],
    [3, 2, 'lo', false],
    [3, 3, 'lo', true],
    [5, 1, '', true],
    [99, 1, '', true],
    [0, 1_048_576, 'hello', true],
  ])('reading at %i, %i bytes gives %j, at the end: %s', async (offset, len, text, eof) => {
    expect(await open('h')).toEqual({ handleId: 'h' })
    expect(await call('readBlock', { handleId: 'h', offset, len })).toEqual({ chunk: b64(text), eof })
  })
  it('writing leaves zeros where nothing was written', async () => {
    await open('w', 'f', 'replace')
    await call('writeBlock', { handleId: 'w', offset: 10, chunk: b64('xyz') })
    await call('writeBlock', { handleId: 'w', offset: 0, chunk: b64('abc') })
    await call('close', { handleId: 'w' })
    expect(readFileSync(join(root, 'f'))).toEqual(Buffer.from('abc\0\0\0\0\0\0\0xyz'))
  })
  it.each([
    [{ handleId: 'h', offset: 0, len: 0 }, 'file read block length must be between 1 and 1048576'],
    [{ handleId: 'h', offset: 0, len: 1_048_577 }, 'file read block length must be between 1 and 1048576'],
  ])('refuses a block of %j', async (params, message) => {
    await open('h')
    await refused(call('readBlock', params)).toMatchObject({ code: -32600, message })
  })
  it.each([
    ['', 'file write block length must be between 1 and 1048576', -32600],
    [Buffer.alloc(1_048_577).toString('base64'), 'file write block length must be between 1 and 1048576', -32600],
    ['A', expect.any(String), -32602],
  ])('refuses to write %.8s', async (chunk, message, code) => {
    await open('w', 'f', 'replace')
    await refused(call('writeBlock', { handleId: 'w', offset: 0, chunk })).toMatchObject({ code, message })
  })
  it('a handle serves one purpose, and a wrong use does not end it', async () => {
    await open('r')
    await open('w', 'new', 'replace')
    const badFile = { code: -32603, message: 'Bad file descriptor (os error 9)' }
    await refused(call('writeBlock', { handleId: 'r', offset: 0, chunk: b64('x') })).toMatchObject(badFile)
    await refused(call('readBlock', { handleId: 'w', offset: 0, len: 1 })).toMatchObject(badFile)
    expect(await call('writeBlock', { handleId: 'w', offset: 0, chunk: b64('x') })).toEqual({})
  })
  it('ids are unique, short, and unknown after closing', async () => {
    await open('h')
    await refused(open('h')).toMatchObject({ code: -32600, message: 'file handle `h` already exists' })
    await open('x'.repeat(32))
    await refused(open('x'.repeat(33))).toMatchObject({ message: 'file handle ID must not exceed 32 bytes' })
    await refused(open('é'.repeat(17))).toMatchObject({ message: 'file handle ID must not exceed 32 bytes' })
    const tooLong = { handleId: 'x'.repeat(33), offset: 0, len: 1, chunk: b64('x') }
    for (const method of ['readBlock', 'writeBlock', 'close'])
      await refused(call(method, tooLong)).toMatchObject({
        code: -32600,
        message: 'file handle ID must not exceed 32 bytes',
      })
    expect(await call('close', { handleId: 'h' })).toEqual({})
    expect(await call('close', { handleId: 'h' })).toEqual({})
    await refused(call('readBlock', { handleId: 'h', offset: 0, len: 1 })).toMatchObject({
      code: -32004,
      message: 'unknown file handle `h`',
    })
  })
  it('128 are enough for a connection, and a failed opening takes none', async () => {
    await Promise.all(Array.from({ length: 128 }, (_, i) => open(`h${i}`)))
    await refused(open('one too many')).toMatchObject({
      code: -32600,
      message: 'at most 128 file handles may be open per connection',
    })
    await call('close', { handleId: 'h0' })
    await refused(open('missing', 'none')).toMatchObject(NOT_FOUND)
    await open('one more')
  })
  it.each([
    ['d', 'read', { code: -32600 }],
    ['fifo', 'read', { code: -32600 }],
    ['d', 'replace', IS_A_FOLDER],
    ['f', 'append', { code: -32602 }],
    ['f', null, { code: -32602 }],
  ])('refuses to open %s for %s', async (path, mode, error) => {
    await refused(call('open', at(path, { handleId: 'h', mode }))).toMatchObject(error)
  })
  it('end with their connection', async () => {
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    await Promise.all(Array.from({ length: 50 }, (_, i) => open(`h${i}`)))
    expect(openFiles()).toBeGreaterThanOrEqual(before + 50)
    caller.close()
    await vi.waitUntil(() => openFiles() <= before, 20_000)
  })
})

describe('fs/watchMissing', () => {
  const watch = (watchId: number, missing: string[], present?: string) =>
    call('watchMissing', { watchId, missing: missing.map(uri), ...(present ? { present: uri(present) } : {}) })
  const fired = () => caller.notifications.map((n) => n.params.watchId)

  it('tells once when a missing path comes', async () => {
    expect(await watch(1, ['new'])).toEqual({ watching: true })
    writeFileSync(join(root, 'new'), '')
    await vi.waitUntil(() => fired().length === 1, 20_000)
    rmSync(join(root, 'new'))
    writeFileSync(join(root, 'new'), '')
    expect(fired()).toEqual([1])
  })
  it('tells when a missing folder on the way comes', async () => {
    await watch(1, ['x/y/z'])
    mkdirSync(join(root, 'x'))
    await vi.waitUntil(() => fired().length === 1, 20_000)
  })
  it('tells when what was present goes', async () => {
    await watch(1, ['new'], 'f')
    rmSync(join(root, 'f'))
    await vi.waitUntil(() => fired().length === 1, 20_000)
  })
  it('tells when the folder itself goes', async () => {
    await watch(1, ['d/sub/new'])
    rmSync(join(root, 'd'), { recursive: true })
    await vi.waitUntil(() => fired().length === 1, 20_000)
  })
  it('a new watch takes the place of the old one', async () => {
    await watch(1, ['one'])
    await watch(5, ['two'])
    writeFileSync(join(root, 'one'), '')
    writeFileSync(join(root, 'two'), '')
    await vi.waitUntil(() => fired().length > 0, 20_000)
    expect(fired()).toEqual([5])
  })
  it('ids begin at 1', async () => {
    expect(await watch(0, ['new'])).toEqual({ watching: false })
    expect(await watch(1, ['new'])).toEqual({ watching: true })
  })
  it.each([
    [3, ['new'], undefined],
    [2, ['new'], undefined],
    [9, ['f'], undefined],
    [9, [], undefined],
    [9, ['new'], 'none'],
    [2 ** 64, ['new'], undefined],
    [9, ['dl/new'], undefined],
    [9, ['f/new'], undefined],
    [9, ['new'], 'l'],
    [9, ['new'], 'dl/a'],
  ])('does not watch with id %i for %j while %s is present', async (watchId, missing, present) => {
    await watch(3, ['other'])
    expect(await watch(watchId, missing, present)).toEqual({ watching: false })
  })
})

describe('changes', () => {
  it('are put to the gate first, with native paths', async () => {
    await call('writeFile', at('a%20b', { dataBase64: '' }))
    await call('createDirectory', at('c'))
    await call('remove', at('c'))
    await call('copy', { sourcePath: uri('f'), destinationPath: uri('g'), recursive: false })
    await call('open', at('h', { handleId: 'h', mode: 'replace' }))
    await call('readFile', at('f'))
    expect(changes.map(({ isInside: _, ...change }) => change)).toEqual([
      { kind: 'write', path: `${root}/a b` },
      { kind: 'create-directory', path: `${root}/c` },
      { kind: 'remove', path: `${root}/c` },
      { kind: 'copy', path: `${root}/g`, fromPath: `${root}/f` },
      { kind: 'write', path: `${root}/h` },
    ])
  })
  it('that are refused change nothing', async () => {
    refuse = new Error('the owner said no')
    await refused(call('remove', at('f'))).toMatchObject({ message: 'the owner said no' })
    await refused(call('writeFile', at('f', { dataBase64: '' }))).toMatchObject({ message: 'the owner said no' })
    expect(readFileSync(join(root, 'f'), 'utf8')).toBe('hello')
  })
})
