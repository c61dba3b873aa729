/** The exec server's wire, part 2: what kind of machine it is and what it can do. */
import {
  array,
  boolean,
  integer,
  nullable,
  object,
  optional,
  record,
  string,
  withDefault,
  type Infer,
} from './decode.ts'

/** What this server can do; a missing name means no. */
export const EXEC_CAPABILITIES = [
  'networkProxyLaunch',
  'networkProxyReviewDomains',
  'networkProxyTransparentTcp',
  'credentialMasking',
  'credentialMaskingCustomProviders',
  'capabilityDiscoverySandbox',
  'fsWatchMissing',
  'capabilityDiscoveryV2',
  'environmentConfigRead',
  'httpHeaderEnvVars',
  'sandboxedFileStreaming',
  'fileWriteStreaming',
  'shellSnapshotV2',
  'windowsMxc',
  'linuxRootWritePreservesDevices',
  'linuxApprovedRootWritePreservesRestrictions',
] as const
export type ExecCapability = (typeof EXEC_CAPABILITIES)[number]

/** Result of `environment/info`, and part of the initialize result. Paths are URIs but `shell.path`. */
export const environmentInfo = object({
  shell: object({ name: string, path: string }),
  executorVersion: optional(string),
  providerId: optional(string),
  cwd: optional(string),
  userHomeDir: optional(string),
  platformOs: optional(string),
  prependPathDirs: withDefault(array(string), []),
  temporaryDirectories: withDefault(array(string), []),
  tempDir: optional(string),
  capabilities: record(boolean),
})
export type EnvironmentInfo = Infer<typeof environmentInfo>

/** `environment/status` */
export const environmentStatus = object({ status: string })

/** `environmentConfig/read` */
export const environmentConfigParams = object({
  cwd: string,
  configPaths: array(array(string)),
  requirementsPaths: array(array(string)),
})
export const configLayers = object({
  layers: array(object({ source: string, baseDir: nullable(string), toml: string })),
  cloudInsertionIndex: integer(0),
})
export const environmentConfigResult = object({
  userHomeDir: string,
  codexHomeDir: string,
  hostname: nullable(string),
  config: configLayers,
  requirements: configLayers,
})
export type EnvironmentConfigResult = Infer<typeof environmentConfigResult>
