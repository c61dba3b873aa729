import { describe, expect, it } from 'vitest'
import { networkHint } from './network-hints.ts'

describe('P22 a program that looks up names itself, where there is no DNS', () => {
  it.each([
    ['Python', 'socket.gaierror: [Errno -3] Temporary failure in name resolution'],
    ['Node', 'Error: getaddrinfo EAI_AGAIN registry.npmjs.org'],
    ['curl', 'curl: (6) Could not resolve host: allowed.example'],
    ['git', "fatal: unable to access 'https://a.example/': Could not resolve host: a.example"],
    ['ssh', 'ssh: Could not resolve hostname github.com: Name or service not known'],
    ['Go', 'Get "https://a.example": dial tcp: lookup a.example on 127.0.0.53:53: read udp'],
    ['Rust', 'error: failed to lookup address information: Try again'],
  ])('%s', (_tool, output) => {
    expect(networkHint(`Building...\n${output}\n`)).toMatch(/no DNS.*the proxy looks names up.*HTTPS_PROXY/)
  })
})

it('P17 a direct connection that the sandbox refused', () => {
  expect(networkHint('OSError: [Errno 101] Network is unreachable')).toMatch(/connected directly.*only the proxy/)
})

it('a certificate that is not trusted while HTTPS is opened', () => {
  expect(networkHint('npm error code SELF_SIGNED_CERT_IN_CHAIN')).toMatch(/start the command again/)
})

it.each(['', 'npm error Test failed', 'try again later\n'])('%j is not about the network', (output) => {
  expect(networkHint(output)).toBeNull()
})
