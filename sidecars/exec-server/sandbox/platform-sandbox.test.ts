import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { sandboxObject } from '../../protocol/exec-sandbox.ts'
import { READ_ONLY, sandboxOf } from '../../testing/confined-commands.ts'
import { BubblewrapSandbox } from './bubblewrap.ts'
import { refusingSandbox } from './sandbox.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const free = {
  sandbox: undefined,
  enforceManagedNetwork: false,
  managedNetwork: undefined,
  networkProxy: undefined,
  tty: false,
}
const confined = { ...free, sandbox: sandboxOf({ root: '/', entries: READ_ONLY }) }
const object = (permissions: object) => sandboxObject({ permissions, windowsSandboxLevel: 'disabled' }, 'sandbox')

it('a system without a sandbox runs what needs none and refuses the rest with its reason', async () => {
  const sandbox = refusingSandbox('Windows has none')
  expect((await sandbox.require(free)).sandboxType).toBe('none')
  expect((await sandbox.require({ ...free, sandbox: object({ type: 'disabled' }) })).sandboxType).toBe('none')
  for (const params of [confined, { ...free, enforceManagedNetwork: true }])
    await expect(sandbox.require(params)).rejects.toMatchObject({
      message: 'Windows has none',
      data: { kind: 'sandboxUnavailable' },
    })
})

it('a system without a sandbox refuses redirected connections, naming the field', async () => {
  const sandbox = refusingSandbox('Windows has none')
  await expect(sandbox.require({ ...free, managedNetwork: { transparentTcp: true } })).rejects.toMatchObject({
    message: expect.stringMatching(/^managedNetwork\.transparentTcp: .*Linux.*; leave it out/),
    data: { kind: 'sandboxUnavailable' },
  })
})

it.each([
  ['nothing asked for', undefined, 'none'],
  ['disabled', object({ type: 'disabled' }), 'none'],
  ['confined by somebody else', object({ type: 'external', network: 'enabled' }), 'none'],
  [
    'confined by somebody else, but without network',
    object({ type: 'external', network: 'restricted' }),
    'linuxSeccomp',
  ],
  [
    'everything allowed',
    object({ type: 'managed', file_system: { type: 'unrestricted' }, network: 'enabled' }),
    'none',
  ],
  [
    'files only',
    object({ type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' }),
    'linuxSeccomp',
  ],
])('alone, walls for %s', async (_, sandbox, sandboxType) => {
  expect((await linux(false).require({ ...free, sandbox })).sandboxType).toBe(sandboxType)
})

it('under a host an enabled network is the proxy, and without one it is refused', async () => {
  const sandbox = object({ type: 'managed', file_system: { type: 'unrestricted' }, network: 'enabled' })
  const walls = await linux(true).require({ ...free, sandbox })
  expect(walls.sandboxType).toBe('linuxSeccomp')
  const spec = {
    program: '/bin/true',
    argv: ['/bin/true'],
    cwd: '/',
    environment: { HTTP_PROXY: 'http://127.0.0.1:9' },
  }
  // What the command itself says of a proxy counts for nothing here.
  await expect(walls.build(spec, {})).rejects.toMatchObject({ data: { kind: 'sandboxUnavailable' } })
})

it('an entry that cannot be understood is refused before anything is asked', async () => {
  const entries = [{ path: { type: 'path', path: 'relative' }, access: 'read' }]
  await expect(linux(false).require({ ...free, sandbox: sandboxOf({ root: '/', entries }) })).rejects.toThrow(
    /relative URL/,
  )
})

function linux(isNetworkManaged: boolean): BubblewrapSandbox {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-platform-'))
  folders.push(folder)
  return new BubblewrapSandbox({
    folder,
    isNetworkManaged,
    policyContext: { temporaryDirectories: [], denied: [] },
    searchPath: () => process.env.PATH,
  })
}
