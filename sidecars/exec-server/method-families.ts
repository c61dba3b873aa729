import type { EnvironmentInfo } from '../protocol/exec-environment.ts'
import { pathOfText } from '../protocol/path-uri.ts'
import { readEnvironmentInfo } from './environment/environment-info.ts'
import { registerEnvironmentMethods } from './environment/environment-methods.ts'
import { registerFileMethods, type FileMethodOptions } from './files/file-methods.ts'
import type { PolicyContext } from './files/file-policy.ts'
import type { Environment } from './http/http-call.ts'
import { registerHttpMethods } from './http/http-methods.ts'
import type { MethodTable } from './wire/method-table.ts'

export interface MethodFamilyOptions {
  /** Absolute paths that no sandboxed file call may reach, such as our own data folder. */
  deniedPaths?: string[]
  /** Asked before each change of a file; see FileMethodOptions. */
  allowChange?: FileMethodOptions['allowChange']
  /** For `valueEnvVar` and the proxy variables of http. Default: this process's. */
  environment?: () => Environment
  /** The same as `initialize` tells. Default: this machine, without capabilities of processes. */
  environmentInfo?: () => EnvironmentInfo | Promise<EnvironmentInfo>
}

/**
 * What a sandbox object is read with. `deniedPaths`: see {@link MethodFamilyOptions}; `shownPaths` are folders
 * in them that commands may read.
 */
export function policyContextOf(deniedPaths: readonly string[], shownPaths: readonly string[] = []): PolicyContext {
  return {
    temporaryDirectories: process.env.TMPDIR?.startsWith('/') ? [pathOfText(process.env.TMPDIR)] : [],
    denied: deniedPaths.map(pathOfText),
    shown: shownPaths.map(pathOfText),
  }
}

/** Every method beside `process/*`: files, http, environment. */
export function registerMethodFamilies(methods: MethodTable, options: MethodFamilyOptions = {}): void {
  const policyContext = policyContextOf(options.deniedPaths ?? [])
  registerFileMethods(methods, { policyContext, allowChange: options.allowChange })
  registerHttpMethods(methods, { environment: options.environment })
  registerEnvironmentMethods(methods, {
    policyContext,
    environmentInfo: options.environmentInfo ?? (() => readEnvironmentInfo()),
  })
}
