import type { SidecarName } from '../../preload/api.ts'

/** In the order in which they are shown. */
export const SIDECAR_ORDER: readonly SidecarName[] = ['exec-server', 'mcp-server', 'network-proxy']

export const SIDECAR_TITLES: Record<SidecarName, string> = {
  'exec-server': 'exec server',
  'mcp-server': 'mcp server',
  'network-proxy': 'network proxy',
}

/** For the status bar. */
export const SIDECAR_SHORT: Record<SidecarName, string> = {
  'exec-server': 'exec',
  'mcp-server': 'mcp',
  'network-proxy': 'proxy',
}
