/**
 * What programs print when they go around the proxy, and what that means: a wall answers nobody with a
 * reason, so the window says it instead.
 */

const HINTS: readonly { says: RegExp; means: string }[] = [
  {
    // glibc, musl, macOS, Node, curl, git, Go, Rust.
    says: /Temporary failure in name resolution|Name or service not known|nodename nor servname|EAI_AGAIN|getaddrinfo ENOTFOUND|Could not resolve host|dial tcp: lookup \S+|failed to lookup address information|Try again\)?$/m,
    means:
      'It looked up a name itself. Behind the sandbox there is no DNS, also not for hosts that a rule allows: the proxy looks names up. Programs find it in HTTPS_PROXY; one that reads no such variable needs its own proxy setting.',
  },
  {
    says: /Network is unreachable|ENETUNREACH|No route to host|EHOSTUNREACH|Operation not permitted \(os error 1\)\s*\(connect|connect: operation not permitted/i,
    means:
      'It connected directly. Behind the sandbox only the proxy can be reached. Programs find it in HTTPS_PROXY; one that reads no such variable needs its own proxy setting.',
  },
  {
    says: /SSL certificate problem: unable to get local issuer certificate|self[- ]signed certificate in certificate chain|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|x509: certificate signed by unknown authority|CERTIFICATE_VERIFY_FAILED/,
    means:
      'It did not trust the certificate. While HTTPS is opened at the proxy, programs have to trust its authority: start the command again if it is older than the switch; one that pins keys or has a store of its own needs its host in "exclude" of network.toml.',
  },
]

/** The hint for the end of a failed program's output; null when nothing in it speaks of the network. */
export function networkHint(output: string): string | null {
  return HINTS.find(({ says }) => says.test(output))?.means ?? null
}
