/** TLS errors in words: whose certificate, what is wrong with it, what to do. */

const UNTRUSTED = 'is not signed by an authority that this machine trusts'
const CERTIFICATE_PROBLEMS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  INVALID_CA: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host',
}
const TRUST_HINT = 'If that authority is meant, name its file in SSL_CERT_FILE where Gatehouse is started'
const EXCLUDE_HINT = 'If the host wants a client certificate, exclude it from inspection'

/** A sentence part about a handshake with `host` (reached at `hop`) that failed. */
export function describeTlsFailure(host: string, hop: string, error: NodeJS.ErrnoException): string {
  const problem = error.code === undefined ? undefined : CERTIFICATE_PROBLEMS[error.code]
  if (problem !== undefined)
    return `the certificate of ${host} at ${hop} ${problem} (${error.code})${problem === UNTRUSTED ? `. ${TRUST_HINT}` : ''}`
  const { code = '', message } = error
  if (/CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|BAD_CERTIFICATE/.test(code))
    return `TLS with ${host} at ${hop} failed: the host broke off the handshake (${code}). ${EXCLUDE_HINT}`
  if (/NO_APPLICATION_PROTOCOL/.test(code))
    return `TLS with ${host} at ${hop} failed: it speaks none of the HTTP versions offered (${code})`
  return `TLS with ${host} at ${hop} failed: ${message}`
}

/** Why a client ended a handshake with us. */
export function describeClientRefusal(error: NodeJS.ErrnoException | undefined): string {
  const code = error?.code ?? ''
  if (/UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|DECRYPT_ERROR/.test(code))
    return `the client does not trust Gatehouse's certificate (${code}); it reads none of the variables that name the trust bundle, or pins the key`
  if (/NO_APPLICATION_PROTOCOL/.test(code)) return 'the client speaks neither HTTP/1.1 nor HTTP/2 inside TLS'
  return `the TLS handshake with the client failed${error ? `: ${error.message}` : ''}`
}
