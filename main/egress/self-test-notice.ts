import { SELF_TEST_FAILED } from '../../sidecars/protocol/host-channel.ts'
import type { Notices } from '../feed/notices.ts'

const NOTICE = 'network-proxy-self-test'

/** A proxy that fails its own test is said loudly, until one passes. `warnings` are those of its start. */
export function showSelfTest(notices: Pick<Notices, 'raise' | 'clear'>, warnings: readonly string[]): void {
  const failures = warnings.filter((warning) => warning.startsWith(SELF_TEST_FAILED))
  if (failures.length === 0) notices.clear(NOTICE)
  else notices.raise(NOTICE, { level: 'error', message: `The network proxy cannot be trusted. ${failures.join(' ')}` })
}
