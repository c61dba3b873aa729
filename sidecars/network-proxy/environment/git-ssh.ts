/** Git over SSH on macOS: ssh reads no proxy variable, and the system's nc speaks SOCKS5. */

const MARKER = 'GATEHOUSE_GIT_SSH=1 '

/** A value for GIT_SSH_COMMAND that leads ssh through `socksUrl`. */
export function gitSshCommand(socksUrl: string): string {
  const { host } = new URL(socksUrl)
  // Connections shared through a control socket would be outside the proxy and the sandbox.
  return `${MARKER}ssh -o ControlMaster=no -o ControlPath=none -o ProxyCommand='nc -X 5 -x ${host} %h %p'`
}

/** True for a value of ours, whatever port it names; anything else is the owner's. */
export function isOwnGitSshCommand(value: string): boolean {
  return value.startsWith(`${MARKER}ssh `) && value.endsWith(" %h %p'")
}
