import {
  CA_DIRECTORY_VARIABLE,
  CA_FILE_VARIABLES,
  PARENT_PROXY_VARIABLES,
} from '../../sidecars/protocol/network-variables.ts'

const ALWAYS = [...CA_FILE_VARIABLES, CA_DIRECTORY_VARIABLE, ...PARENT_PROXY_VARIABLES]

/**
 * Names of variables that the network proxy is to have: authorities, parent proxies, and the secrets that
 * `network.toml` names. No other variable of the owner reaches it.
 */
export function proxyVariableNames(ownerFileText: string | undefined): string[] {
  const secrets = (ownerFileText ?? '').matchAll(/\bsecret_env_var["']?\s*[=:]\s*["']([^"'\n]+)["']/g)
  return [...new Set([...ALWAYS, ...Array.from(secrets, ([, name]) => name ?? '')])]
}

/** The variables of `names` that are set; what the login shell says is newer than what the host was started with. */
export function proxyEnvironment(
  names: readonly string[],
  started: Readonly<Record<string, string | undefined>>,
  login: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of names) {
    const value = login[name] ?? started[name]
    if (value !== undefined && value !== '') environment[name] = value
  }
  return environment
}
