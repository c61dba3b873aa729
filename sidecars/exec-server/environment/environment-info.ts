import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir, hostname, tmpdir } from 'node:os'
import type { EnvironmentInfo, ExecCapability } from '../../protocol/exec-environment.ts'
import { formatPathUri, pathOfText } from '../../protocol/path-uri.ts'
import { loginShell } from '../processes/child-environment.ts'

/** The version whose wire we speak; clients compare it with their own. */
const WIRE_VERSION = '0.171.0'

/** Clients refuse an answer with a shell they do not know. */
const KNOWN_SHELLS = new Set(['bash', 'zsh', 'sh'])

/** What the methods of files, http and environment can do on this machine; the rest is `extra`. */
function ownCapabilities(): Partial<Record<ExecCapability, boolean>> {
  return {
    fsWatchMissing: true,
    fileWriteStreaming: true,
    // Sandboxed file calls rest on /proc/self/fd.
    sandboxedFileStreaming: process.platform === 'linux',
    capabilityDiscoverySandbox: process.platform === 'linux',
    capabilityDiscoveryV2: true,
    environmentConfigRead: true,
    httpHeaderEnvVars: true,
  }
}

/**
 * What `initialize` and `environment/info` tell about this machine.
 * @param extra capabilities of processes and network; a missing one means "no"
 */
export function readEnvironmentInfo(extra: Partial<Record<ExecCapability, boolean>> = {}): EnvironmentInfo {
  return {
    shell: shellForCommands(),
    executorVersion: WIRE_VERSION,
    providerId: providerId(),
    cwd: uriOf(workingFolder()),
    userHomeDir: uriOf(homedir()),
    platformOs: process.platform === 'darwin' ? 'macos' : process.platform === 'win32' ? 'windows' : 'linux',
    prependPathDirs: [],
    temporaryDirectories: process.env.TMPDIR?.startsWith('/') ? [uriOf(process.env.TMPDIR)] : [],
    tempDir: uriOf(tmpdir()),
    capabilities: Object.fromEntries(
      Object.entries({ ...ownCapabilities(), ...extra }).filter(([, isThere]) => isThere),
    ) as Record<string, boolean>,
  }
}

const uriOf = (path: string) => formatPathUri(pathOfText(path))

/** The folder we were started in may have been removed since. */
function workingFolder(): string {
  try {
    return process.cwd()
  } catch {
    return homedir()
  }
}

/** The login shell; for one that clients do not know (fish, nologin) the nearest that they do. */
function shellForCommands(): { name: string; path: string } {
  const login = loginShell()
  const path =
    [login, '/bin/bash', '/usr/bin/bash'].find((p) => KNOWN_SHELLS.has(nameOf(p)) && existsSync(p)) ?? '/bin/sh'
  return { name: nameOf(path), path }
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)

/** The same for every server of one account on one machine, and it tells nothing about either. */
function providerId(): string {
  return `sha256:${createHash('sha256')
    .update(`gatehouse\0${machineId()}\0${process.getuid?.() ?? ''}`)
    .digest('hex')}`
}

function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim() || hostname()
  } catch {
    return hostname()
  }
}
