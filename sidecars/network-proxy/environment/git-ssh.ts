/** Git over SSH: ssh reads no proxy variable, so it is given a program that goes through the proxy. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const MARKER = 'GATEHOUSE_GIT_SSH=1 '
// Connections shared through a control socket would be outside the proxy and the sandbox.
const SSH = 'ssh -o ControlMaster=no -o ControlPath=none'

export interface GitSshWays {
  platform: NodeJS.Platform
  httpUrl: string
  /** Undefined when SOCKS is off. */
  socksUrl: string | undefined
  /** `socat` can be started. */
  hasSocat: boolean
}

/** A value for GIT_SSH_COMMAND; undefined where no program can lead ssh through the proxy. */
export function gitSshCommand({ platform, httpUrl, socksUrl, hasSocat }: GitSshWays): string | undefined {
  if (platform === 'darwin' && socksUrl !== undefined)
    // The system's own nc speaks SOCKS5.
    return `${MARKER}${SSH} -o ProxyCommand='nc -X 5 -x ${new URL(socksUrl).host} %h %p'`
  if (platform !== 'linux' || !hasSocat) return undefined
  const { hostname, port } = new URL(httpUrl)
  return `${MARKER}${SSH} -o ProxyCommand='socat - PROXY:${hostname}:%h:%p,proxyport=${port}'`
}

/** True for a value of ours, whatever port it names; anything else is the owner's. */
export function isOwnGitSshCommand(value: string): boolean {
  return value.startsWith(`${MARKER}ssh `) && / %h %p'$|:%h:%p,proxyport=\d+'$/.test(value)
}

/** True when `name` can be started from one of the folders of `searchPath`. */
export function isInstalled(name: string, searchPath: string | undefined): boolean {
  return (searchPath ?? '').split(delimiter).some((folder) => {
    try {
      if (folder !== '') accessSync(join(folder, name), constants.X_OK)
      return folder !== ''
    } catch {
      return false
    }
  })
}
