/** Names under which tools look for a proxy and for authorities. Every tool reads another spelling. */
import { CA_FILE_VARIABLES } from '../../protocol/network-variables.ts'

/** `http://…`, also for protocols that SOCKS could carry: httpx and gRPC fail on a socks URL. */
export const HTTP_PROXY_VARIABLES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'http_proxy',
  'https_proxy',
  'ALL_PROXY',
  'all_proxy',
  'WS_PROXY',
  'WSS_PROXY',
  'ws_proxy',
  'wss_proxy',
  'GRPC_PROXY',
  'grpc_proxy',
  'YARN_HTTP_PROXY',
  'YARN_HTTPS_PROXY',
  'npm_config_http_proxy',
  'npm_config_https_proxy',
  'npm_config_proxy',
  'NPM_CONFIG_HTTP_PROXY',
  'NPM_CONFIG_HTTPS_PROXY',
  'NPM_CONFIG_PROXY',
  'BUNDLE_HTTP_PROXY',
  'BUNDLE_HTTPS_PROXY',
  'PIP_PROXY',
  'DOCKER_HTTP_PROXY',
  'DOCKER_HTTPS_PROXY',
  'CARGO_HTTP_PROXY',
] as const

/** `socks5h://…` where there is one. */
export const SOCKS_PROXY_VARIABLES = ['FTP_PROXY', 'ftp_proxy'] as const

export const NO_PROXY_VARIABLES = [
  'NO_PROXY',
  'no_proxy',
  'npm_config_noproxy',
  'NPM_CONFIG_NOPROXY',
  'BUNDLE_NO_PROXY',
] as const

/** Files of authorities that a tool trusts instead of the platform's. */
export const CA_VARIABLES: readonly string[] = CA_FILE_VARIABLES
