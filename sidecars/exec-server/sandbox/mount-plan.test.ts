import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { entry, READ_ONLY, sandboxOf, WORKSPACE_WRITE, type SandboxShape } from '../../testing/confined-commands.ts'
import { bubblewrapArguments, type NetworkWall } from './bubblewrap-arguments.ts'
import { Looks } from './looks.ts'
import { planMounts, type MountPlan } from './mount-plan.ts'
import { placesOrAll } from './sandbox-places.ts'

let base: string
let workspace: string

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-plan-')))
  workspace = join(base, 'ws')
  for (const folder of ['ws/.git/hooks', 'ws/sub/deep', 'out', 'data/run'])
    mkdirSync(join(base, folder), { recursive: true })
  for (const file of ['ws/.git/config', 'ws/file', 'ws/sub/deep/x.key']) writeFileSync(join(base, file), '')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const plan = (shape: Partial<SandboxShape>, isMountPoint: (path: BytePath) => boolean = () => false): MountPlan =>
  planMounts(
    placesOrAll(sandboxOf({ root: workspace, ...shape }), {
      temporaryDirectories: [],
      denied: ['data', 'data/run'].map((folder) => pathOfText(join(base, folder))),
      shown: [pathOfText(join(base, 'data/run/certificates'))],
    }),
    new Looks(),
    isMountPoint,
  )

/** Mounts as short lines, below the folder of the test. */
const lines = ({ mounts }: MountPlan): string[] =>
  mounts.map(({ kind, path }) => `${kind} ${path.slice(base.length + 1)}`)
const at = (path: string) => join(base, path)

const vacant = (folder: string) =>
  ['.agents', '.aws', '.codex', '.gatehouse', '.git'].map((name) => `vacant ${folder}/${name}`)

describe('mounts of a sandbox object', () => {
  it('read-only: nothing but our own folder is mounted over the root', () => {
    const result = plan({ entries: READ_ONLY })
    expect(result.root).toBe('read')
    expect(lines(result)).toEqual(['hiddenFolder data'])
  })

  it.each([
    ['read-only', READ_ONLY],
    ['workspace-write', WORKSPACE_WRITE],
    ['without rules about files', undefined],
  ])('%s: what commands have to trust can be read in our own folder, and nothing else there', (_what, entries) => {
    mkdirSync(at('data/run/certificates'))
    const { mounts } = plan({ entries })
    const ours = mounts.filter(({ path }) => path.startsWith(at('data')))
    expect(ours).toEqual([
      { kind: 'hiddenFolder', path: at('data'), leadsOn: true },
      { kind: 'read', path: at('data/run/certificates') },
    ])
  })

  it('workspace-write: protected names stay, missing ones stay missing', () => {
    expect(lines(plan({ entries: WORKSPACE_WRITE }))).toEqual([
      'hiddenFolder data',
      'write ws',
      'vacant ws/.agents',
      'vacant ws/.aws',
      'vacant ws/.codex',
      'vacant ws/.gatehouse',
      'read ws/.git',
    ])
  })

  it('without rules about files everything is writable but what is ours', () => {
    const result = plan({ entries: undefined })
    expect(result.root).toBe('write')
    expect(result.mounts.at(-1)).toEqual({ kind: 'hiddenFolder', path: at('data'), leadsOn: false })
  })

  it('an entry below our own folder grants nothing', () => {
    const entries = [...READ_ONLY, entry(at('data/run'), 'write'), entry(at('data'), 'write')]
    expect(lines(plan({ entries }))).toEqual(['hiddenFolder data'])
  })

  it.each<[string, () => object[], string[]]>([
    ['a writable place in a readable one', () => [entry(at('ws/sub'), 'write')], ['write ws/sub', ...vacant('ws/sub')]],
    ['a readable place in a readable one is no mount', () => [entry(at('ws/sub'), 'read')], []],
    ['a denied file', () => [entry(at('ws/file'), 'deny')], ['hiddenFile ws/file']],
    ['a denied folder', () => [entry(at('ws/sub'), 'none')], ['hiddenFolder ws/sub']],
    [
      'of two rules for one place the stricter',
      () => [entry(at('ws/sub'), 'write'), entry(at('ws/sub'), 'deny')],
      ['hiddenFolder ws/sub'],
    ],
    [
      'a readable place in a denied one',
      () => [entry(at('ws/sub'), 'deny'), entry(at('ws/sub/deep'), 'read')],
      ['hiddenFolder ws/sub', 'read ws/sub/deep'],
    ],
    ['a missing place that was to be writable', () => [entry(at('ws/none'), 'write')], []],
    [
      'what a pattern denies, whatever else is said',
      () => [entry({ glob: '**/*.key' }, 'deny'), entry(at('ws/sub/deep/x.key'), 'read')],
      ['hiddenFile ws/sub/deep/x.key'],
    ],
  ])('%s', (_, entries, expected) => {
    expect(lines(plan({ entries: [...READ_ONLY, ...entries()] })).filter((line) => !line.endsWith(' data'))).toEqual(
      expected,
    )
  })

  it('the way from a writable folder to a kept one is pinned, so that it cannot be moved', () => {
    const entries = [...WORKSPACE_WRITE, entry(at('ws/sub/deep'), 'read')]
    const result = lines(plan({ entries }))
    expect(result.slice(result.indexOf('write ws/sub'))).toEqual(['write ws/sub', 'read ws/sub/deep'])
  })

  it('a missing place that must not be written cannot be made, not even by its parent', () => {
    const entries = [...WORKSPACE_WRITE, entry(at('ws/a/b/c'), 'deny'), entry(at('ws/x/y'), 'read', true)]
    expect(lines(plan({ entries }))).toContain('vacant ws/a')
    expect(lines(plan({ entries })).join()).not.toContain('ws/x')
  })

  it('a folder that is there for another mount only is as good as missing', () => {
    mkdirSync(at('ws/.codex'))
    expect(lines(plan({ entries: WORKSPACE_WRITE }))).toContain('read ws/.codex')
    expect(lines(plan({ entries: WORKSPACE_WRITE }, (path) => path === at('ws/.codex')))).toContain('vacant ws/.codex')
  })

  it('without an entry for the root only named places exist, with the links that lead there', () => {
    symlinkSync('ws', at('link'))
    const result = plan({ entries: [entry(at('link'), 'read')] })
    expect(result.root).toBe('hidden')
    expect(result.mounts).toContainEqual({ kind: 'link', path: at('link'), target: 'ws' })
    expect(lines(result)).toContain('read ws')
  })

  it('a link that lies where the command may write grants nothing', () => {
    symlinkSync('../out', at('ws/libs'))
    const entries = [...WORKSPACE_WRITE, entry(at('ws/libs'), 'write'), entry(at('ws/libs/sub'), 'write')]
    expect(lines(plan({ entries })).join()).not.toContain('out')
  })

  it('a protected name that is a link is refused, with the next step', () => {
    rmSync(at('ws/.git'), { recursive: true })
    symlinkSync('../out', at('ws/.git'))
    expect(() => plan({ entries: WORKSPACE_WRITE })).toThrow(
      /\.git is a symbolic link .*; put what it leads to in its place/,
    )
  })

  it('patterns are looked for as deep as the sandbox says', () => {
    const entries = [...WORKSPACE_WRITE, entry({ glob: '**/*.key' }, 'deny')]
    expect(lines(plan({ entries, globScanMaxDepth: 2 })).join()).not.toContain('x.key')
    expect(lines(plan({ entries, globScanMaxDepth: 3 }))).toContain('hiddenFile ws/sub/deep/x.key')
  })

  it('more mounts than bwrap can bear are refused', () => {
    for (let i = 0; i < 1_001; i++) writeFileSync(at(`ws/sub/${i}.pem`), '')
    expect(() => plan({ entries: [...READ_ONLY, entry({ glob: '**/*.pem' }, 'deny')] })).toThrow(/more than 1000/)
  })
})

describe('options of bwrap', () => {
  const options = (files: MountPlan, network: NetworkWall = 'none', environment = {}) =>
    bubblewrapArguments({
      files,
      network,
      environment,
      cwd: '/w' as BytePath,
      covers: { hiddenFile: '/c/f', hiddenFolder: '/c/d', emptyFolder: '/c/e' },
    })
  const path = (text: string) => pathOfText(text)

  it('say each mount, the deepest last', () => {
    const files: MountPlan = {
      root: 'read',
      mounts: [
        { kind: 'write', path: path('/w') },
        { kind: 'read', path: path('/w/.git') },
        { kind: 'vacant', path: path('/w/.codex') },
        { kind: 'hiddenFile', path: path('/w/.env') },
        { kind: 'hiddenFolder', path: path('/w/closed'), leadsOn: false },
        { kind: 'hiddenFolder', path: path('/w/half'), leadsOn: true },
        { kind: 'read', path: path('/w/half/open') },
      ],
    }
    const all = options(files).join(' ')
    expect(all).toContain(
      '--bind /w /w --ro-bind /w/.git /w/.git --ro-bind /c/e /w/.codex --ro-bind /c/f /w/.env --ro-bind /c/d /w/closed ' +
        '--perms 0111 --tmpfs /w/half --ro-bind /w/half/open /w/half/open --remount-ro /w/half --chdir /w',
    )
    expect(all).toMatch(
      /^--die-with-parent --unshare-user --unshare-pid .*--cap-drop ALL --unshare-net --ro-bind \/ \/ /,
    )
  })

  it.each<[NetworkWall, boolean]>([
    ['none', true],
    ['machine', false],
    ['bridged', false],
  ])('network %s: a namespace of its own made by bwrap is %s', (network, isOwn) => {
    expect(options({ root: 'read', mounts: [] }, network).includes('--unshare-net')).toBe(isOwn)
  })

  it('a hidden root ends read-only, a writable one keeps the devices of the kernel as they are', () => {
    expect(options({ root: 'hidden', mounts: [] }).join(' ')).toContain('--remount-ro / --chdir')
    expect(options({ root: 'write', mounts: [] }).join(' ')).toContain('--bind / / --ro-bind /sys /sys')
  })

  it('say where names are looked up, where that is another place than the machine has', () => {
    const resolver = (layout: object) =>
      bubblewrapArguments({
        files: { root: 'read', mounts: [] },
        network: 'bridged',
        environment: {},
        cwd: '/w' as BytePath,
        covers: { hiddenFile: '/c/f', hiddenFolder: '/c/d', emptyFolder: '/c/e' },
        ...layout,
      }).join(' ')
    const file = realpathSync('/etc/resolv.conf')
    expect(resolver({ resolver: '/c/resolv.conf' })).toContain(`--ro-bind /c/resolv.conf ${file} --chdir`)
    expect(resolver({})).not.toContain('resolv.conf')
    expect(resolver({ resolver: '/c/resolv.conf', network: 'none' })).not.toContain('resolv.conf')
  })

  it('the environment arrives byte for byte', () => {
    const words = options({ root: 'read', mounts: [] }, 'none', { NAME: 'é=\n$x' })
    expect(Buffer.from(words.at(-1) as string, 'latin1').toString('utf8')).toBe('é=\n$x')
    expect(words.slice(-3, -1)).toEqual(['--setenv', 'NAME'])
  })
})
