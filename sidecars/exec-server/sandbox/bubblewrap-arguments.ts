import { existsSync } from 'node:fs'
import type { BytePath } from '../../protocol/path-uri.ts'
import { realWay } from './real-way.ts'
import type { Mount, MountPlan } from './mount-plan.ts'

/** Where a command's network ends: nowhere, at the machine's own, or at a namespace that was made for it. */
export type NetworkWall = 'none' | 'machine' | 'bridged'

/** What is shown in the place of something else. */
export interface Covers {
  /** Empty, and nobody may read it. */
  hiddenFile: string
  hiddenFolder: string
  /** Empty, and everybody may see that. */
  emptyFolder: string
}

export interface BubblewrapLayout {
  files: MountPlan
  network: NetworkWall
  cwd: BytePath
  covers: Covers
  /** A file to be found where that of the machine says how names are looked up; undefined where it stays. */
  resolver?: string | undefined
  environment: Readonly<Record<string, string>>
}

/** resolv.conf(5) */
export const RESOLVER_FILE = '/etc/resolv.conf' as BytePath

/** Without us nothing of it lives on; it sees no process and no shared memory but its own. */
const NAMESPACES = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try']
const BASE = ['--die-with-parent', ...NAMESPACES, '--cap-drop', 'ALL']

/**
 * The options of bwrap(1), for `--args`: one character per byte. They stand in a descriptor and not on the
 * command line because they hold the environment, which every user of the machine could read there.
 */
export function bubblewrapArguments(layout: BubblewrapLayout): string[] {
  const { files, network, cwd, environment } = layout
  return [
    ...BASE,
    ...(network === 'none' ? ['--unshare-net'] : []),
    ...rootArguments(files.root),
    ...files.mounts.flatMap((mount) => mountArguments(mount, layout.covers)),
    ...sealArguments(files),
    ...(network !== 'none' && (layout.resolver !== undefined || files.root === 'hidden')
      ? resolverArguments(layout.resolver)
      : []),
    ...(files.root === 'hidden' ? ['--remount-ro', '/'] : []),
    '--chdir',
    cwd,
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', latin1(name), latin1(value)]),
  ]
}

/**
 * The settings of the kernel are files that belong to root, and who is root here is it there: a name
 * written to `core_pattern` is run outside. The price is that a command cannot tune its own process.
 */
const ROOT_CARE = ['--remount-ro', '/proc']

function rootArguments(root: MountPlan['root']): string[] {
  const machine = ['--dev', '/dev', '--proc', '/proc', ...(process.getuid?.() === 0 ? ROOT_CARE : [])]
  if (root === 'hidden') return machine
  if (root === 'read') return ['--ro-bind', '/', '/', ...machine]
  return ['--bind', '/', '/', ...(existsSync('/sys') ? ['--ro-bind', '/sys', '/sys'] : []), ...machine]
}

function mountArguments(mount: Mount, covers: Covers): string[] {
  const { path } = mount
  switch (mount.kind) {
    case 'write':
      return ['--bind', path, path]
    case 'read':
      return ['--ro-bind', path, path]
    case 'hiddenFolder':
      return mount.leadsOn ? ['--perms', '0111', '--tmpfs', path] : ['--ro-bind', latin1(covers.hiddenFolder), path]
    case 'hiddenFile':
      return ['--ro-bind', latin1(covers.hiddenFile), path]
    case 'vacant':
      return ['--ro-bind', latin1(covers.emptyFolder), path]
    case 'link':
      return ['--symlink', mount.target, path]
  }
}

/** Once everything below is mounted: such a folder belongs to the command's user, who could open it again. */
function sealArguments({ mounts }: MountPlan): string[] {
  return mounts.flatMap((mount) => (mount.kind === 'hiddenFolder' && mount.leadsOn ? ['--remount-ro', mount.path] : []))
}

/** Names are looked up by a file that is often a link to where nothing else is visible. */
function resolverArguments(replacement: string | undefined): string[] {
  const file = realWay(RESOLVER_FILE)
  if (replacement !== undefined) return ['--ro-bind', latin1(replacement), file]
  return file === RESOLVER_FILE ? [] : ['--ro-bind-try', file, file]
}

/** A text as the bytes of its UTF-8, one character each. */
const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
