/** The settings a command of a turn runs with: the thread's, and what a person has granted beyond them. */
import type { ActiveTurn } from './active-turn.ts'
import type { SessionApprovals } from './thread-runtime.ts'
import type { Settings } from './thread-settings.ts'

/** Same object when nothing was granted. Grants open folders and the network, and nothing else. */
export function withGrants(turn: ActiveTurn, approvals: SessionApprovals): Settings {
  const { settings } = turn
  const policy = settings.sandboxPolicy
  const roots = [...new Set([...turn.grantedWriteRoots, ...approvals.writeRoots])]
  const network = turn.grantedNetwork || approvals.network
  if ((roots.length === 0 && !network) || policy.type === 'dangerFullAccess' || policy.type === 'externalSandbox')
    return settings
  const networkAccess = policy.networkAccess || network
  if (policy.type === 'workspaceWrite') {
    const writableRoots = [...policy.writableRoots, ...roots]
    return { ...settings, sandboxPolicy: { ...policy, writableRoots, networkAccess } }
  }
  if (roots.length === 0) return { ...settings, sandboxPolicy: { ...policy, networkAccess } }
  return {
    ...settings,
    // Still nothing of the workspace, only what was granted.
    workspaceRoots: [],
    sandboxPolicy: {
      type: 'workspaceWrite',
      writableRoots: roots,
      networkAccess,
      excludeTmpdirEnvVar: true,
      excludeSlashTmp: true,
    },
  }
}
