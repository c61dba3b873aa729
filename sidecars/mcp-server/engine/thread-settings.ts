/** A thread's settings: what a turn runs with unless it says otherwise. */
import type {
  ApprovalPolicy,
  ApprovalsReviewer,
  CollaborationMode,
  SandboxMode,
  SandboxPolicy,
  SettingsBlock,
  ThreadSettings,
} from '../../protocol/app-server/thread.ts'

/** When the model may start child agents; `custom` holds words of its own. */
export type MultiAgentMode = 'explicitRequestOnly' | 'proactive' | { custom: string }

export interface Settings {
  cwd: string
  workspaceRoots: string[]
  model: string
  modelProvider: string
  effort: string | null
  summary: string | null
  serviceTier: string | null
  personality: string | null
  approvalPolicy: ApprovalPolicy
  approvalsReviewer: ApprovalsReviewer
  sandboxPolicy: SandboxPolicy
  collaborationMode: CollaborationMode | null
  multiAgentMode: MultiAgentMode
  disabledPluginIds: string[]
}
/** Members present replace the thread's; `null` clears where clearing means something. */
export type SettingsOverrides = Partial<Settings>

/** A setting that cannot be; `field` is the wire's name of it. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  constructor(
    readonly field: string,
    problem: string,
  ) {
    super(`${field}: ${problem}`)
  }
}

/** The policy behind a mode word of start, resume and fork. */
export function policyOfMode(mode: SandboxMode): SandboxPolicy {
  switch (mode) {
    case 'read-only':
      return { type: 'readOnly', networkAccess: false }
    case 'workspace-write':
      return {
        type: 'workspaceWrite',
        writableRoots: [],
        networkAccess: false,
        excludeTmpdirEnvVar: false,
        excludeSlashTmp: false,
      }
    case 'danger-full-access':
      return { type: 'dangerFullAccess' }
  }
}

/**
 * The settings with overrides applied. Changing only model or effort keeps the collaboration mode and
 * rewrites its model and effort. Same object when nothing changes.
 * @throws SettingsError and changes nothing
 */
export function withOverrides(settings: Settings, overrides: SettingsOverrides): Settings {
  const present = Object.entries(overrides).filter(([, value]) => value !== undefined)
  if (overrides.cwd !== undefined && !overrides.cwd.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(overrides.cwd))
    throw new SettingsError('cwd', `expected an absolute path, got "${overrides.cwd}"`)
  if (overrides.model === '') throw new SettingsError('model', 'is empty')
  const changed = present.filter(([name, value]) => !same(settings[name as keyof Settings], value))
  if (changed.length === 0) return settings
  const next: Settings = { ...settings, ...Object.fromEntries(changed) }
  if (overrides.collaborationMode) {
    const mode = overrides.collaborationMode.settings
    next.model = mode.model
    next.effort = mode.reasoning_effort ?? next.effort
  } else if (next.collaborationMode && (next.model !== settings.model || next.effort !== settings.effort))
    next.collaborationMode = {
      ...next.collaborationMode,
      settings: { ...next.collaborationMode.settings, model: next.model, reasoning_effort: next.effort },
    }
  if (overrides.cwd !== undefined && overrides.workspaceRoots === undefined) next.workspaceRoots = [overrides.cwd]
  return next
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

export function settingsBlock(settings: Settings, instructionSources: string[]): SettingsBlock {
  return {
    model: settings.model,
    modelProvider: settings.modelProvider,
    serviceTier: settings.serviceTier,
    cwd: settings.cwd,
    runtimeWorkspaceRoots: settings.workspaceRoots,
    instructionSources,
    approvalPolicy: settings.approvalPolicy,
    approvalsReviewer: settings.approvalsReviewer,
    sandbox: settings.sandboxPolicy,
    activePermissionProfile: null,
    reasoningEffort: settings.effort,
    disabledPluginIds: settings.disabledPluginIds,
    multiAgentMode: settings.multiAgentMode,
  }
}

export function threadSettings(settings: Settings): ThreadSettings {
  return {
    cwd: settings.cwd,
    environments: [],
    approvalPolicy: settings.approvalPolicy,
    approvalsReviewer: settings.approvalsReviewer,
    sandboxPolicy: settings.sandboxPolicy,
    activePermissionProfile: null,
    model: settings.model,
    modelProvider: settings.modelProvider,
    serviceTier: settings.serviceTier,
    effort: settings.effort,
    summary: settings.summary,
    collaborationMode: settings.collaborationMode,
    multiAgentMode: settings.multiAgentMode,
    personality: settings.personality,
    disabledPluginIds: settings.disabledPluginIds,
  }
}

/** As stored in a `turn_context` record (snake_case, as Codex CLI has it). */
export function turnContextRecord(turnId: string, settings: Settings): Record<string, unknown> {
  return {
    turn_id: turnId,
    cwd: settings.cwd,
    workspace_roots: settings.workspaceRoots,
    approval_policy: settings.approvalPolicy,
    approvals_reviewer: settings.approvalsReviewer,
    sandbox_policy: settings.sandboxPolicy,
    model: settings.model,
    model_provider: settings.modelProvider,
    effort: settings.effort,
    summary: settings.summary,
    service_tier: settings.serviceTier,
    personality: settings.personality,
    collaboration_mode: settings.collaborationMode,
    multi_agent_mode: settings.multiAgentMode,
  }
}

/** What a stored `turn_context` says, as overrides; foreign spellings of the sandbox are understood. */
export function settingsOfRecord(record: Record<string, unknown>): SettingsOverrides {
  const overrides: SettingsOverrides = {}
  const text = (name: string): string | undefined =>
    typeof record[name] === 'string' ? (record[name] as string) : undefined
  overrides.cwd = text('cwd')
  overrides.model = text('model')
  overrides.modelProvider = text('model_provider')
  overrides.effort = text('effort')
  overrides.summary = text('summary')
  overrides.approvalsReviewer = text('approvals_reviewer') as ApprovalsReviewer | undefined
  overrides.approvalPolicy = (record.approval_policy ?? undefined) as ApprovalPolicy | undefined
  if (Array.isArray(record.workspace_roots)) overrides.workspaceRoots = record.workspace_roots as string[]
  const sandbox = sandboxOfRecord(record.sandbox_policy as Record<string, unknown> | undefined)
  if (sandbox) overrides.sandboxPolicy = sandbox
  const mode = record.collaboration_mode as CollaborationMode | null | undefined
  if (mode?.mode === 'plan' || mode?.mode === 'default') overrides.collaborationMode = mode
  const agents = record.multi_agent_mode
  if (isMultiAgentMode(agents)) overrides.multiAgentMode = agents
  return overrides
}

export function isMultiAgentMode(value: unknown): value is MultiAgentMode {
  if (value === 'explicitRequestOnly' || value === 'proactive') return true
  return typeof (value as { custom?: unknown } | null | undefined)?.custom === 'string'
}

function sandboxOfRecord(policy: Record<string, unknown> | undefined): SandboxPolicy | undefined {
  switch (policy?.type) {
    case 'readOnly':
    case 'workspaceWrite':
    case 'dangerFullAccess':
    case 'externalSandbox':
      return policy as unknown as SandboxPolicy
    case 'read-only':
      return { type: 'readOnly', networkAccess: policy.network_access === true }
    case 'workspace-write':
      return {
        type: 'workspaceWrite',
        writableRoots: Array.isArray(policy.writable_roots) ? (policy.writable_roots as string[]) : [],
        networkAccess: policy.network_access === true,
        excludeTmpdirEnvVar: policy.exclude_tmpdir_env_var === true,
        excludeSlashTmp: policy.exclude_slash_tmp === true,
      }
    case 'danger-full-access':
      return { type: 'dangerFullAccess' }
    case 'external-sandbox':
      return { type: 'externalSandbox', networkAccess: policy.network_access === 'enabled' ? 'enabled' : 'restricted' }
    default:
      return undefined
  }
}
