/** Variables of the owner's environment by which programs find authorities and proxies. */

/** Each holds a file of certificates that some tool trusts instead of the platform's. */
export const CA_FILE_VARIABLES = [
  'CODEX_CA_CERTIFICATE',
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'NODE_EXTRA_CA_CERTS',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
  'BUNDLE_SSL_CA_CERT',
  'npm_config_cafile',
  'NPM_CONFIG_CAFILE',
  'CARGO_HTTP_CAINFO',
  'DENO_CERT',
  'AWS_CA_BUNDLE',
  'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE',
  'NIX_SSL_CERT_FILE',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
] as const
export const CA_DIRECTORY_VARIABLE = 'SSL_CERT_DIR'

/** Where the owner's own way out is, for a proxy that may use it. */
export const PARENT_PROXY_VARIABLES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
] as const

/** `1` in the variables of a lease: connections of its command are to be redirected to the proxy. */
export const TRANSPARENT_TCP_VARIABLE = 'GATEHOUSE_TRANSPARENT_TCP'
