/** From configuration and request to the settings of a new thread. */
import { homedir } from 'node:os'
import type { ApprovalPolicy, ApprovalsReviewer, SandboxMode, SandboxPolicy } from '../../protocol/app-server/thread.ts'
import {
  isMultiAgentMode,
  policyOfMode,
  SettingsError,
  type Settings,
  type SettingsOverrides,
} from '../engine/thread-settings.ts'
import type { ConfigTable } from './config-file.ts'

const MODES = ['read-only', 'workspace-write', 'danger-full-access']
const POLICIES = ['untrusted', 'on-request', 'never']
export const DEFAULT_MODEL = 'gpt-5.5'

/** The defaults of a thread in `cwd`, before the request's own words. @throws SettingsError */
export function settingsFromConfig(config: ConfigTable, cwd: string): Settings {
  const text = (key: string): string | null => (typeof config[key] === 'string' ? (config[key] as string) : null)
  return {
    cwd,
    workspaceRoots: [cwd],
    model: text('model') ?? DEFAULT_MODEL,
    modelProvider: text('model_provider') ?? 'openai',
    effort: text('model_reasoning_effort'),
    summary: text('model_reasoning_summary'),
    serviceTier: text('service_tier'),
    personality: text('personality'),
    approvalPolicy: approvalPolicy(config.approval_policy ?? 'on-request'),
    approvalsReviewer: (text('approvals_reviewer') as ApprovalsReviewer | null) ?? 'user',
    sandboxPolicy: sandboxFromConfig(config, cwd),
    collaborationMode: null,
    multiAgentMode: 'explicitRequestOnly',
    disabledPluginIds: [],
  }
}

/** Without a word on it: a trusted project may be written in, any other is read only. */
function sandboxFromConfig(config: ConfigTable, cwd: string): SandboxPolicy {
  const mode = config.sandbox_mode ?? (isTrusted(config, cwd) ? 'workspace-write' : 'read-only')
  const policy = policyOfMode(sandboxMode(mode, 'sandbox_mode'))
  const details = config.sandbox_workspace_write as ConfigTable | undefined
  if (policy.type !== 'workspaceWrite' || !details) return policy
  return {
    ...policy,
    writableRoots: Array.isArray(details.writable_roots) ? (details.writable_roots as string[]) : [],
    networkAccess: details.network_access === true,
    excludeTmpdirEnvVar: details.exclude_tmpdir_env_var === true,
    excludeSlashTmp: details.exclude_slash_tmp === true,
  }
}

function isTrusted(config: ConfigTable, cwd: string): boolean {
  const projects = config.projects as Record<string, { trust_level?: unknown }> | undefined
  return projects !== undefined && Object.hasOwn(projects, cwd) && projects[cwd]!.trust_level === 'trusted'
}

const PROFILES: Record<string, SandboxMode> = {
  ':read-only': 'read-only',
  ':workspace': 'workspace-write',
  ':danger-full-access': 'danger-full-access',
}
export const PROFILE_IDS = Object.keys(PROFILES)

/** The sandbox that a request names, by mode or by profile; null when it names none. @throws SettingsError */
export function namedSandbox(params: Record<string, unknown>): SandboxMode | null {
  const { sandbox = null, permissions = null } = params
  if (permissions === null) return sandbox === null ? null : sandboxMode(sandbox, 'sandbox')
  if (sandbox !== null || (params.sandboxPolicy ?? null) !== null)
    throw new SettingsError('permissions', 'cannot be combined with a sandbox; name one of the two')
  const mode = typeof permissions === 'string' && Object.hasOwn(PROFILES, permissions) ? PROFILES[permissions] : null
  if (mode) return mode
  throw new SettingsError(
    'permissions',
    `expected one of ${PROFILE_IDS.join(', ')}, got ${JSON.stringify(permissions)}`,
  )
}

export function sandboxMode(value: unknown, field: string): SandboxMode {
  if (typeof value === 'string' && MODES.includes(value)) return value as SandboxMode
  throw new SettingsError(field, `expected one of ${MODES.join(', ')}, got ${JSON.stringify(value)}`)
}

export function approvalPolicy(value: unknown, field = 'approvalPolicy'): ApprovalPolicy {
  if (typeof value === 'string' && POLICIES.includes(value)) return value as ApprovalPolicy
  const granular = (value as { granular?: Record<string, unknown> } | null)?.granular
  if (granular && typeof granular === 'object') {
    const flag = (name: string): boolean => granular[name] !== false
    return {
      granular: {
        sandbox_approval: flag('sandbox_approval'),
        rules: flag('rules'),
        skill_approval: flag('skill_approval'),
        request_permissions: flag('request_permissions'),
        mcp_elicitations: flag('mcp_elicitations'),
      },
    }
  }
  throw new SettingsError(field, `expected one of ${POLICIES.join(', ')}, got ${JSON.stringify(value)}`)
}

/** Members of thread/start, resume, fork, settings/update and turn/start that override settings. */
export function overridesOf(params: Record<string, unknown>): SettingsOverrides {
  const overrides: SettingsOverrides = {}
  const text = (name: string): string | undefined => {
    const value = params[name]
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string') throw new SettingsError(name, `expected a string, got ${typeof value}`)
    return value
  }
  overrides.cwd = text('cwd')
  overrides.model = text('model')
  overrides.modelProvider = text('modelProvider')
  overrides.effort = text('effort')
  overrides.summary = text('summary')
  overrides.personality = text('personality')
  overrides.approvalsReviewer = text('approvalsReviewer') as ApprovalsReviewer | undefined
  if (Object.hasOwn(params, 'serviceTier'))
    overrides.serviceTier = params.serviceTier === null ? null : text('serviceTier')
  if (params.approvalPolicy !== undefined && params.approvalPolicy !== null)
    overrides.approvalPolicy = approvalPolicy(params.approvalPolicy)
  const named = namedSandbox(params)
  if (named) overrides.sandboxPolicy = policyOfMode(named)
  if (params.sandboxPolicy !== undefined && params.sandboxPolicy !== null)
    overrides.sandboxPolicy = sandboxPolicy(params.sandboxPolicy)
  if (Array.isArray(params.runtimeWorkspaceRoots)) overrides.workspaceRoots = params.runtimeWorkspaceRoots as string[]
  const mode = params.collaborationMode as Settings['collaborationMode'] | undefined
  if (mode && (mode.mode === 'plan' || mode.mode === 'default')) overrides.collaborationMode = mode
  const agents = params.multiAgentMode
  if (agents !== undefined && agents !== null) {
    if (!isMultiAgentMode(agents))
      throw new SettingsError(
        'multiAgentMode',
        `expected explicitRequestOnly, proactive or {"custom": words}, got ${JSON.stringify(agents)}`,
      )
    overrides.multiAgentMode = agents
  }
  const plugins = params.disabledPluginIds
  if (Array.isArray(plugins) && plugins.every((id) => typeof id === 'string')) overrides.disabledPluginIds = plugins
  return overrides
}

function sandboxPolicy(value: unknown): SandboxPolicy {
  const policy = value as Partial<Record<string, unknown>> & { type?: unknown }
  switch (policy.type) {
    case 'readOnly':
      return { type: 'readOnly', networkAccess: policy.networkAccess === true }
    case 'workspaceWrite':
      return {
        type: 'workspaceWrite',
        writableRoots: Array.isArray(policy.writableRoots) ? (policy.writableRoots as string[]) : [],
        networkAccess: policy.networkAccess === true,
        excludeTmpdirEnvVar: policy.excludeTmpdirEnvVar === true,
        excludeSlashTmp: policy.excludeSlashTmp === true,
      }
    case 'dangerFullAccess':
      return { type: 'dangerFullAccess' }
    case 'externalSandbox':
      return { type: 'externalSandbox', networkAccess: policy.networkAccess === 'enabled' ? 'enabled' : 'restricted' }
    default:
      throw new SettingsError(
        'sandboxPolicy.type',
        `expected readOnly, workspaceWrite, dangerFullAccess or externalSandbox, got ${JSON.stringify(policy.type)}`,
      )
  }
}

/** Where a thread works when nobody says: the server's own folder, or home when that is gone. */
export function defaultCwd(): string {
  try {
    return process.cwd()
  } catch {
    return homedir()
  }
}
