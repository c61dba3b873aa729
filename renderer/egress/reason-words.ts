/** The proxy's reason codes as sentences that say what it was and what can be done. */
const WORDS: Record<string, string> = {
  denied: 'A rule denies this host.',
  not_allowed: 'No rule allows this host.',
  not_allowed_local: 'The address is local or private, and no rule allows it.',
  dns_failed: 'The name could not be resolved, so nothing was connected.',
  approval_timeout: 'You were asked and did not answer in time, so it was refused.',
  approval_denied: 'You were asked and denied it.',
  method_not_allowed: 'Only reading is allowed in limited mode.',
  policy_denied: 'It was refused when you were asked, or too many other hosts waited for an answer.',
  mitm_required: 'Only what can be read may pass to this host, and this connection cannot be read.',
  mitm_hook_denied: 'The host has inspection hooks in network.toml, and none matches this request.',
  sni_mismatch: 'Inside the tunnel another host was asked for than the tunnel is for.',
  proxy_disabled: 'The network proxy is switched off.',
  proxy_loop: 'The destination is the proxy itself.',
  too_many_tunnels: 'Too many connections were open.',
  unix_socket_unsupported: 'Unix sockets through the proxy work on macOS only.',
  connect_failed: 'It was allowed, but the other side did not accept the connection.',
  client_gone: 'The program gave up before an answer.',
}

/** Unknown codes are shown as they came. */
export function reasonWords(reason: string): string {
  return WORDS[reason] ?? reason
}
