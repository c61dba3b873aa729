/** A thread's sandbox policy as the exec server's wire object, and as roots for patches. */
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxEntry, SandboxObject } from '../../protocol/exec-sandbox.ts'
import { toPathUri } from '../../protocol/path-uri.ts'
import type { SandboxRoots } from '../engine/services.ts'
import type { Settings } from '../engine/thread-settings.ts'

/** Folders inside a writable root that stay read-only: what they hold could run code or change rules later. */
const PROTECTED = ['.git', '.agents', '.codex', '.gatehouse', '.aws']

/** Null means that no sandbox is asked for. */
export function sandboxObjectOf(settings: Settings): SandboxObject | null {
  const policy = settings.sandboxPolicy
  if (policy.type === 'dangerFullAccess') return null
  const common = {
    cwd: toPathUri(settings.cwd),
    workspaceRoots: settings.workspaceRoots.map(toPathUri),
    windowsSandboxLevel: 'disabled' as const,
  }
  if (policy.type === 'externalSandbox')
    return { permissions: { type: 'external', network: policy.networkAccess }, ...common }
  const entries: SandboxEntry[] = [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }]
  if (policy.type === 'workspaceWrite') {
    for (const root of writableRoots(settings)) {
      entries.push({ path: { type: 'path', path: toPathUri(root) }, access: 'write' })
      for (const name of PROTECTED)
        entries.push({
          path: { type: 'path', path: toPathUri(join(root, name)) },
          access: 'read',
          missing_path_behavior: 'skip',
        })
    }
    if (!policy.excludeSlashTmp)
      entries.push({ path: { type: 'special', value: { kind: 'slash_tmp' } }, access: 'write' })
    if (!policy.excludeTmpdirEnvVar)
      entries.push({ path: { type: 'special', value: { kind: 'tmpdir' } }, access: 'write' })
  }
  return {
    permissions: {
      type: 'managed',
      file_system: { type: 'restricted', entries },
      network: policy.networkAccess ? 'enabled' : 'restricted',
    },
    ...common,
  }
}

function writableRoots(settings: Settings): string[] {
  const policy = settings.sandboxPolicy
  return [...new Set([...settings.workspaceRoots, ...(policy.type === 'workspaceWrite' ? policy.writableRoots : [])])]
}

/** Where a patch may write without asking. Real paths, since plans hold real paths. */
export async function sandboxRootsOf(settings: Settings): Promise<SandboxRoots> {
  const policy = settings.sandboxPolicy
  if (policy.type === 'dangerFullAccess' || policy.type === 'externalSandbox') return { writable: null, protected: [] }
  if (policy.type === 'readOnly') return { writable: [], protected: [] }
  const roots = writableRoots(settings)
  if (!policy.excludeSlashTmp) roots.push('/tmp')
  if (!policy.excludeTmpdirEnvVar && process.env.TMPDIR) roots.push(process.env.TMPDIR)
  const writable = await Promise.all(roots.map((root) => realpath(root).catch(() => root)))
  return { writable, protected: writable.flatMap((root) => PROTECTED.map((name) => join(root, name))) }
}
