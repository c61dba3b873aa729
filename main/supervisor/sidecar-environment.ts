/**
 * Variables of the host that a sidecar gets. A short list, so that a secret in the shell that started
 * the host does not travel: what commands see is the login shell's environment, which the exec server
 * receives in its configuration.
 */
const PASSED_ON = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'XDG_RUNTIME_DIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'SYSTEMROOT',
  // The way to the keychain on Linux.
  'DBUS_SESSION_BUS_ADDRESS',
]
/** Where traces go. */
const PASSED_ON_PREFIX = 'OTEL_'

/** The whole environment for a sidecar process. */
export function sidecarEnvironment(from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const env: Record<string, string> = {}
  const traces = Object.keys(from).filter((name) => name.startsWith(PASSED_ON_PREFIX))
  for (const name of [...PASSED_ON, ...traces]) {
    const value = from[name]
    if (value !== undefined) env[name] = value
  }
  return env
}
