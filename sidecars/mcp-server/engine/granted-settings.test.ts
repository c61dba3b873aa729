import { expect, it } from 'vitest'
import { ActiveTurn } from './active-turn.ts'
import { withGrants } from './granted-settings.ts'
import type { SessionApprovals } from './thread-runtime.ts'
import { policyOfMode, type Settings } from './thread-settings.ts'

const turnWith = (mode: Parameters<typeof policyOfMode>[0]) =>
  new ActiveTurn(
    't',
    'regular',
    { cwd: '/w', workspaceRoots: ['/w'], sandboxPolicy: policyOfMode(mode) } as Settings,
    { outputSchema: null, serviceTier: null },
    0,
  )
const approvals = (more: Partial<SessionApprovals> = {}): SessionApprovals => ({
  commands: new Set(),
  files: new Set(),
  mcpTools: new Set(),
  writeRoots: new Set(),
  network: false,
  ...more,
})

it('changes nothing without a grant, and nothing where there are no walls', () => {
  for (const mode of ['read-only', 'workspace-write', 'danger-full-access'] as const) {
    const turn = turnWith(mode)
    expect(withGrants(turn, approvals())).toBe(turn.settings)
  }
  const open = turnWith('danger-full-access')
  open.grantedWriteRoots.push('/x')
  expect(withGrants(open, approvals())).toBe(open.settings)
})

it('adds folders and the network of the turn and of the session to a workspace', () => {
  const turn = turnWith('workspace-write')
  turn.grantedWriteRoots.push('/x')
  expect(withGrants(turn, approvals({ writeRoots: new Set(['/x', '/y']), network: true }))).toMatchObject({
    workspaceRoots: ['/w'],
    sandboxPolicy: { type: 'workspaceWrite', writableRoots: ['/x', '/y'], networkAccess: true },
  })
})

it('opens what was granted in a read-only session, and neither its workspace nor temporary folders', () => {
  const turn = turnWith('read-only')
  turn.grantedWriteRoots.push('/x')
  expect(withGrants(turn, approvals())).toMatchObject({
    workspaceRoots: [],
    sandboxPolicy: {
      type: 'workspaceWrite',
      writableRoots: ['/x'],
      networkAccess: false,
      excludeTmpdirEnvVar: true,
      excludeSlashTmp: true,
    },
  })
  const quiet = turnWith('read-only')
  expect(withGrants(quiet, approvals({ network: true })).sandboxPolicy).toEqual({
    type: 'readOnly',
    networkAccess: true,
  })
})
