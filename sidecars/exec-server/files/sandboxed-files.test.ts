import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sandboxObject } from '../../protocol/exec-sandbox.ts'
import { pathOfText } from '../../protocol/path-uri.ts'
import { MethodCaller } from '../../testing/method-caller.ts'
import { MethodTable } from '../wire/method-table.ts'
import { Base64Text } from '../wire/base64-text.ts'
import { copy } from './copy.ts'
import { registerFileMethods } from './file-methods.ts'
import { FilePolicy } from './file-policy.ts'
import { createDirectory } from './folders.ts'
import type { Reach } from './place.ts'
import { readFile } from './read-file.ts'
import { remove } from './remove.ts'
import { writeFile } from './write-file.ts'

const READ_ONLY = { code: -32603, message: 'Read-only file system (os error 30)' }
const DENIED = { code: -32600, message: 'Permission denied (os error 13)' }
const NOT_FOUND = { code: -32004, message: 'No such file or directory (os error 2)' }
const b64 = (text: string) => Buffer.from(text).toString('base64')

let base: string
let caller: MethodCaller

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-sandbox-')))
  for (const folder of ['ws/.git/hooks', 'ws/sub', 'ws/priv', 'out', 'data'])
    mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(base, 'ws/f'), 'inside')
  writeFileSync(join(base, 'ws/priv/x'), 'private')
  writeFileSync(join(base, 'ws/sub/.env'), 'KEY=1')
  writeFileSync(join(base, 'out/todo.md'), 'secret')
  writeFileSync(join(base, 'data/token'), 'token')
  symlinkSync(join(base, 'out'), join(base, 'ws/libs'))
  symlinkSync('libs', join(base, 'ws/v2'))
  symlinkSync(join(base, 'out/todo.md'), join(base, 'ws/leak'))
  symlinkSync(join(base, 'out/new'), join(base, 'ws/dangling'))
  const table = new MethodTable()
  registerFileMethods(table, { policyContext: { temporaryDirectories: [], denied: [pathOfText(join(base, 'data'))] } })
  caller = new MethodCaller(table)
})
afterEach(() => {
  caller.close()
  rmSync(base, { recursive: true, force: true })
})

const uri = (path: string) => `file://${base}/${path}`
type Place = string | { kind: string; subpath?: string } | { glob: string }
const entry = (place: Place, access: string, skip = false) => ({
  path:
    typeof place === 'string'
      ? { type: 'path', path: uri(place) }
      : 'glob' in place
        ? { type: 'glob_pattern', pattern: place.glob }
        : { type: 'special', value: place },
  access,
  ...(skip ? { missing_path_behavior: 'skip' } : {}),
})
const sandbox = (entries: unknown[], more: Record<string, unknown> = {}) => ({
  permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
  cwd: uri('ws'),
  workspaceRoots: [uri('ws')],
  windowsSandboxLevel: 'disabled',
  ...more,
})
/** What the CLI sends for workspace-write, without /tmp, where these tests live. */
const workspaceWrite = () =>
  sandbox([
    entry({ kind: 'root' }, 'read'),
    entry({ kind: 'project_roots' }, 'write'),
    ...['.git', '.agents', '.codex', '.aws'].map((name) =>
      entry({ kind: 'project_roots', subpath: name }, 'read', true),
    ),
  ])
const readOnly = () => sandbox([entry({ kind: 'root' }, 'read')])
const workspaceOnly = () => sandbox([entry({ kind: 'project_roots' }, 'write')])
const withSecrets = () =>
  sandbox([
    entry({ kind: 'root' }, 'read'),
    entry({ kind: 'project_roots' }, 'write'),
    entry('ws/priv', 'deny'),
    entry({ glob: '**/.env' }, 'none'),
  ])

const call = (method: string, params: Record<string, unknown>) => caller.call(`fs/${method}`, params)
const write = (path: string, sandboxed: unknown) =>
  call('writeFile', { path: uri(path), dataBase64: b64('new'), sandbox: sandboxed })
const read = (path: string, sandboxed: unknown) => call('readFile', { path: uri(path), sandbox: sandboxed })
/** Everything outside the workspace, to prove that nothing there changed. */
const outside = () =>
  readdirSync(join(base, 'out')).map((name) => [name, readFileSync(join(base, 'out', name), 'utf8')])

describe('under workspace-write', () => {
  it.each([['ws/new'], ['ws/f'], ['ws/sub/deep'], ['ws/./a/../in.txt']])('%s is written', async (path) => {
    expect(await write(path, workspaceWrite())).toEqual({})
  })
  it.each([
    ['out/n', 'beside the workspace'],
    ['ws/../out/n', 'by dots'],
    ['ws/libs/n', 'through a link to a folder'],
    ['ws/v2/n', 'through two links'],
    ['ws/leak', 'through a link to a file'],
    ['ws/dangling', 'through a link to nothing yet'],
    ['ws/.git/config', 'what makes git run code'],
    ['ws/.git/hooks/pre-commit', 'what makes git run code'],
    ['ws/.codex', 'what makes agents run code'],
  ])('E92 E124 %s is refused: %s', async (path) => {
    const before = outside()
    await expect(write(path, workspaceWrite())).rejects.toMatchObject(READ_ONLY)
    expect(outside()).toEqual(before)
    expect(existsSync(join(base, 'ws/.codex'))).toBe(false)
  })
  it('reads go anywhere but to our own data and to what processes hold', async () => {
    expect(await read('ws/libs/todo.md', workspaceWrite())).toEqual({ dataBase64: b64('secret') })
    await expect(read('data/token', workspaceWrite())).rejects.toMatchObject(DENIED)
    const environ = call('readFile', { path: 'file:///proc/self/environ', sandbox: workspaceWrite() })
    await expect(environ).rejects.toMatchObject(DENIED)
  })
  it('our own data is closed by any way there', async () => {
    symlinkSync(join(base, 'data'), join(base, 'ws/data'))
    await expect(read('ws/data/token', workspaceWrite())).rejects.toMatchObject(DENIED)
    await expect(write('ws/data/token', workspaceWrite())).rejects.toMatchObject(READ_ONLY)
  })
  it.each([
    ['ws/.git', READ_ONLY],
    ['ws', READ_ONLY],
    ['out/todo.md', READ_ONLY],
    ['out', READ_ONLY],
    ['ws/libs/todo.md', READ_ONLY],
  ])('removing %s is refused', async (path, error) => {
    await expect(call('remove', { path: uri(path), sandbox: workspaceWrite() })).rejects.toMatchObject(error)
    expect(existsSync(join(base, path))).toBe(true)
    expect(readFileSync(join(base, 'ws/f'), 'utf8')).toBe('inside')
  })
  it('a link is removed, not what it leads to', async () => {
    await call('remove', { path: uri('ws/libs'), sandbox: workspaceWrite() })
    expect(existsSync(join(base, 'ws/libs'))).toBe(false)
    expect(existsSync(join(base, 'out/todo.md'))).toBe(true)
  })
  it('a tree is removed without following its links', async () => {
    mkdirSync(join(base, 'ws/tree/a/b'), { recursive: true })
    symlinkSync(join(base, 'out'), join(base, 'ws/tree/a/out'))
    await call('remove', { path: uri('ws/tree'), sandbox: workspaceWrite() })
    expect(existsSync(join(base, 'ws/tree'))).toBe(false)
    expect(existsSync(join(base, 'out/todo.md'))).toBe(true)
  })
  it.each([
    ['ws/a/b/c', null],
    ['ws', null],
    ['out', null],
    ['out/d', READ_ONLY],
    ['ws/libs/d', READ_ONLY],
    ['ws/.codex/b', READ_ONLY],
  ])('creating the folder %s: %j', async (path, error) => {
    const creating = call('createDirectory', { path: uri(path), sandbox: workspaceWrite() })
    if (error) await expect(creating).rejects.toMatchObject(error)
    else expect(await creating).toEqual({})
  })
  it('copies may come from outside and not go there', async () => {
    const copy = (from: string, to: string) =>
      call('copy', { sourcePath: uri(from), destinationPath: uri(to), recursive: true, sandbox: workspaceWrite() })
    await copy('out/todo.md', 'ws/todo.md')
    await copy('out', 'ws/copied')
    expect(readFileSync(join(base, 'ws/copied/todo.md'), 'utf8')).toBe('secret')
    await expect(copy('ws/f', 'out/f')).rejects.toMatchObject(READ_ONLY)
    await expect(copy('ws/sub', 'ws/libs/sub')).rejects.toMatchObject(READ_ONLY)
    await expect(copy('ws/f', 'ws/leak')).rejects.toMatchObject(READ_ONLY)
    await expect(copy('data', 'ws/stolen')).rejects.toMatchObject(DENIED)
  })
  it('handles are judged when they are opened', async () => {
    const open = (handleId: string, path: string, mode: string) =>
      call('open', { handleId, path: uri(path), mode, sandbox: workspaceWrite() })
    await open('1', 'out/todo.md', 'read')
    await open('2', 'ws/new', 'replace')
    await expect(open('3', 'out/todo.md', 'replace')).rejects.toMatchObject(READ_ONLY)
    expect(readFileSync(join(base, 'out/todo.md'), 'utf8')).toBe('secret')
  })
  it('names kept from writers are kept also where the sandbox forgot them', async () => {
    const forgetful = sandbox([entry({ kind: 'root' }, 'read'), entry({ kind: 'project_roots' }, 'write')])
    await expect(write('ws/.git/config', forgetful)).rejects.toMatchObject(READ_ONLY)
    const granted = sandbox([
      entry({ kind: 'root' }, 'read'),
      entry({ kind: 'project_roots' }, 'write'),
      entry('ws/.git', 'write'),
    ])
    expect(await write('ws/.git/index', granted)).toEqual({})
  })
  it('a writable .git still keeps what makes git run programs', async () => {
    const granted = [
      entry({ kind: 'root' }, 'read'),
      entry({ kind: 'project_roots' }, 'write'),
      entry('ws/.git', 'write'),
    ]
    await expect(write('ws/.git/config', sandbox(granted))).rejects.toMatchObject(READ_ONLY)
    await expect(write('ws/.git/hooks/pre-commit', sandbox(granted))).rejects.toMatchObject(READ_ONLY)
    expect(await write('ws/.git/config', sandbox([...granted, entry('ws/.git/config', 'write')]))).toEqual({})
  })
  it('a protected name that is a link can be neither followed nor exchanged', async () => {
    rmSync(join(base, 'ws/.git'), { recursive: true })
    mkdirSync(join(base, 'ws/elsewhere'))
    symlinkSync('elsewhere', join(base, 'ws/.git'))
    await expect(write('ws/elsewhere/config', workspaceWrite())).rejects.toMatchObject(READ_ONLY)
    await expect(call('remove', { path: uri('ws/.git'), sandbox: workspaceWrite() })).rejects.toMatchObject(READ_ONLY)
  })
  it('a workspace behind a link is the same workspace', async () => {
    symlinkSync(join(base, 'ws'), join(base, 'project'))
    const behindLink = { ...workspaceWrite(), cwd: uri('project'), workspaceRoots: [uri('project')] }
    await call('writeFile', { path: uri('project/new'), dataBase64: b64('x'), sandbox: behindLink })
    await expect(write('project/.git/config', behindLink)).rejects.toMatchObject(READ_ONLY)
  })
  it('a hard link is what it is: a file of the workspace', async () => {
    linkSync(join(base, 'out/todo.md'), join(base, 'ws/hard'))
    expect(await write('ws/hard', workspaceWrite())).toEqual({})
  })
})

it.each([['ws/f'], ['ws/new'], ['out/n']])('under read-only nothing is written: %s', async (path) => {
  await expect(write(path, readOnly())).rejects.toMatchObject(READ_ONLY)
})

describe('under a sandbox that shows only the workspace', () => {
  it.each([['out/todo.md'], ['ws/libs/todo.md'], ['ws/leak'], ['out/none']])('%s is not there', async (path) => {
    await expect(read(path, workspaceOnly())).rejects.toMatchObject(NOT_FOUND)
    await expect(call('getMetadata', { path: uri(path), sandbox: workspaceOnly() })).rejects.toMatchObject(NOT_FOUND)
    await expect(write(path, workspaceOnly())).rejects.toMatchObject(NOT_FOUND)
  })
  it('the way to the workspace is there, and nothing beside it', async () => {
    const { entries } = await call('readDirectory', { path: uri(''), sandbox: workspaceOnly() })
    expect(entries).toEqual([{ fileName: 'ws', isDirectory: true, isFile: false }])
    expect(await call('getMetadata', { path: uri(''), sandbox: workspaceOnly() })).toMatchObject({ isDirectory: true })
  })
  it('links that lead out are left out of listings and walks', async () => {
    const { entries } = await call('readDirectory', { path: uri('ws'), sandbox: workspaceOnly() })
    const names = (entries as { fileName: string }[]).map((e) => e.fileName).sort()
    expect(names).toEqual(['.git', 'f', 'priv', 'sub'])
    const options = { maxDepth: 5, maxDirectories: 50, maxEntries: 50, followDirectorySymlinks: true }
    const walked = await call('walk', { path: uri('ws'), options, sandbox: workspaceOnly() })
    expect(JSON.stringify(walked)).not.toMatch(/libs|v2|todo/)
  })
})

describe('under a sandbox with denied places', () => {
  it.each([['ws/priv/x'], ['ws/sub/.env']])('%s is denied to readers and writers', async (path) => {
    await expect(read(path, withSecrets())).rejects.toMatchObject(DENIED)
    await expect(write(path, withSecrets())).rejects.toMatchObject(READ_ONLY)
  })
  it('what the pattern would match cannot be created either', async () => {
    await expect(write('ws/.env', withSecrets())).rejects.toMatchObject(READ_ONLY)
  })
  it('a folder that holds denied things cannot be taken away or copied out', async () => {
    const params = { path: uri('ws/priv'), sandbox: withSecrets() }
    await expect(call('remove', params)).rejects.toMatchObject(READ_ONLY)
    const copied = {
      sourcePath: uri('ws/sub'),
      destinationPath: uri('ws/sub2'),
      recursive: true,
      sandbox: withSecrets(),
    }
    await expect(call('copy', copied)).rejects.toMatchObject(DENIED)
    expect(existsSync(join(base, 'ws/sub2/.env'))).toBe(false)
  })
  it('walks do not show them', async () => {
    const options = { maxDepth: 5, maxDirectories: 50, maxEntries: 50, followDirectorySymlinks: false }
    const walked = await call('walk', { path: uri('ws'), options, sandbox: withSecrets() })
    expect(JSON.stringify(walked)).not.toMatch(/priv|\.env/)
  })
})

describe('sandbox objects', () => {
  it.each([
    ['disabled', { permissions: { type: 'disabled' }, windowsSandboxLevel: 'disabled' }],
    ['external', { permissions: { type: 'external', network: 'restricted' }, windowsSandboxLevel: 'disabled' }],
    [
      'unrestricted files',
      {
        permissions: { type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' },
        windowsSandboxLevel: 'disabled',
      },
    ],
  ])('%s leave files alone', async (_, sandboxed) => {
    expect(await write('out/n', sandboxed)).toEqual({})
  })
  it('the context of the policy wins over the folder of the call', async () => {
    const sandboxed = { ...workspaceWrite(), policyContext: { cwd: uri('out'), workspaceRoots: [uri('out')] } }
    expect(await write('out/n', sandboxed)).toEqual({})
    await expect(write('ws/n', sandboxed)).rejects.toMatchObject(READ_ONLY)
  })
  it.each([
    ['without files', { permissions: { type: 'managed' }, windowsSandboxLevel: 'disabled' }],
    ['of unknown kind', { permissions: { type: 'magic' }, windowsSandboxLevel: 'disabled' }],
    ['without a level', { permissions: { type: 'disabled' } }],
    ['with a relative path', sandbox([{ path: { type: 'path', path: 'ws' }, access: 'write' }])],
  ])('%s are refused, and nothing is done', async (_, sandboxed) => {
    await expect(write('ws/new', sandboxed)).rejects.toMatchObject({ code: -32602 })
    expect(existsSync(join(base, 'ws/new'))).toBe(false)
  })
  it.each([[{ kind: 'project_roots', subpath: '../out' }], [{ kind: 'unknown' }]])(
    '%j grants nothing outside',
    async (place) => {
      const sandboxed = sandbox([entry({ kind: 'root' }, 'read'), entry(place, 'write')])
      await expect(write('out/n', sandboxed)).rejects.toMatchObject({ code: expect.any(Number) })
      expect(existsSync(join(base, 'out/n'))).toBe(false)
    },
  )
})

describe('a folder exchanged for a link right after it was judged', () => {
  /** The policy of workspace-write, and the worst that an attacker's timing can do. */
  function reachOfVictim(): Reach {
    const parsed = sandboxObject(workspaceWrite(), 'sandbox')
    const policy = FilePolicy.of(parsed, { temporaryDirectories: [], denied: [] }) as FilePolicy
    const exchange = () => {
      if (lstatSync(join(base, 'ws/swap')).isSymbolicLink()) return
      renameSync(join(base, 'ws/swap'), join(base, 'ws/away'))
      symlinkSync(join(base, 'out'), join(base, 'ws/swap'))
    }
    const victim = Object.create(policy) as FilePolicy
    victim.requireWrite = (path) => {
      policy.requireWrite(path)
      exchange()
    }
    victim.requireRead = (path) => {
      policy.requireRead(path)
      exchange()
    }
    return { policy: victim, followSymlinks: true }
  }
  const swapped = (name: string) => pathOfText(join(base, 'ws/swap', name))
  beforeEach(() => {
    mkdirSync(join(base, 'ws/swap/below'), { recursive: true })
    writeFileSync(join(base, 'ws/swap/todo.md'), 'harmless')
  })

  it.each<[string, (reach: Reach) => Promise<unknown>]>([
    ['writing a new file', (reach) => writeFile(swapped('new'), new Base64Text(b64('x')), reach)],
    ['writing an existing file', (reach) => writeFile(swapped('todo.md'), new Base64Text(b64('x')), reach)],
    ['creating a folder', (reach) => createDirectory(swapped('d'), true, reach)],
    ['removing a file', (reach) => remove(swapped('todo.md'), { recursive: false, force: true }, reach)],
    ['removing a tree', (reach) => remove(swapped('below'), { recursive: true, force: true }, reach)],
    ['copying to it', (reach) => copy(pathOfText(join(base, 'ws/f')), swapped('c'), false, { from: reach, to: reach })],
    [
      'copying a tree to it',
      (reach) => copy(pathOfText(join(base, 'ws/sub')), swapped('c'), true, { from: reach, to: reach }),
    ],
  ])('%s changes nothing outside', async (_, act) => {
    mkdirSync(join(base, 'out/below'))
    const before = readdirSync(join(base, 'out'))
    await act(reachOfVictim()).catch(() => {})
    expect(lstatSync(join(base, 'ws/swap')).isSymbolicLink()).toBe(true)
    expect(readdirSync(join(base, 'out'))).toEqual(before)
    expect(readFileSync(join(base, 'out/todo.md'), 'utf8')).toBe('secret')
  })

  it('reading gives what was judged', async () => {
    const { content } = await readFile(swapped('todo.md'), reachOfVictim())
    expect(String(content)).toBe('harmless')
  })
})
