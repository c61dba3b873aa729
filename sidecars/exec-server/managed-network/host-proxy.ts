import { unavailable } from '../sandbox/sandbox.ts'

/**
 * The proxy that the host has given a command, from the variables of its lease.
 * @throws WireError when there is none: then nothing may leave
 */
export function hostProxyOf(lease: Readonly<Record<string, string>>): string {
  const { HTTP_PROXY } = lease
  if (HTTP_PROXY) return HTTP_PROXY
  throw unavailable(
    'networkProxy: the network proxy of this machine does not run, so nothing could leave; start it, or start the command without networkProxy',
  )
}
