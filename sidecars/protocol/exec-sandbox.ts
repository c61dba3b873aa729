/**
 * The `sandbox` object of process/start and of every file call. Outer members are camelCase, those
 * inside `permissions` snake_case: that is how the wire has them.
 */
import { array, boolean, integer, literal, object, optional, string, variant, type Infer } from './decode.ts'

export const sandboxAccess = literal('read', 'write', 'deny', 'none')
export type SandboxAccess = Infer<typeof sandboxAccess>

/** `path` holds a file URI; `special` stands for a place that only the server can name. */
export const sandboxPath = variant('type', {
  path: object({ path: string }),
  glob_pattern: object({ pattern: string }),
  special: object({
    value: object({
      kind: literal('root', 'minimal', 'current_working_directory', 'project_roots', 'tmpdir', 'slash_tmp', 'unknown'),
      subpath: optional(string),
    }),
  }),
})
export const sandboxEntry = object({
  path: sandboxPath,
  access: sandboxAccess,
  missing_path_behavior: optional(literal('skip')),
})
export type SandboxEntry = Infer<typeof sandboxEntry>

export const sandboxFileSystem = variant('type', {
  unrestricted: object({}),
  restricted: object({ entries: array(sandboxEntry), glob_scan_max_depth: optional(integer(1)) }),
})
export const sandboxNetwork = literal('restricted', 'enabled')
export const sandboxPermissions = variant('type', {
  managed: object({ file_system: sandboxFileSystem, network: sandboxNetwork }),
  disabled: object({}),
  external: object({ network: sandboxNetwork }),
})
export const sandboxObject = object({
  permissions: sandboxPermissions,
  cwd: optional(string),
  workspaceRoots: optional(array(string)),
  userHomeDir: optional(string),
  temporaryDirectories: optional(array(string)),
  policyContext: optional(object({ cwd: optional(string), workspaceRoots: optional(array(string)) })),
  windowsSandboxLevel: literal('disabled', 'restricted-token', 'elevated', 'mxc'),
  windowsSandboxProxySettingsMode: optional(literal('reconcile', 'preserve')),
  useLegacyLandlock: optional(boolean),
})
export type SandboxObject = Infer<typeof sandboxObject>
