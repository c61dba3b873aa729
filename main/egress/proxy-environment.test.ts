import { expect, it } from 'vitest'
import { proxyEnvironment, proxyVariableNames } from './proxy-environment.ts'

const TOML = `
[mitm.actions.a]
inject_request_headers = [{ name = "X", secret_env_var = "TOKEN_A" }, { name = "Y", secret_env_var='TOKEN_B' }]
[mitm.actions.b.aws_sigv4]
access_key_id = { secret_env_var= "KEY_ID" }
`

it('what a proxy needs is taken, and nothing else', () => {
  const started = { TOKEN_A: 'a', TOKEN_B: 'old', OTHER: 'x', HTTPS_PROXY: 'http://parent:1', SSL_CERT_FILE: '' }
  const login = { TOKEN_B: 'new', NODE_EXTRA_CA_CERTS: '/corp.pem', SECRET: 'y' }
  expect(proxyEnvironment(proxyVariableNames(TOML), started, login)).toEqual({
    TOKEN_A: 'a',
    TOKEN_B: 'new',
    HTTPS_PROXY: 'http://parent:1',
    NODE_EXTRA_CA_CERTS: '/corp.pem',
  })
})

it.each(['{"secret_env_var": "J"}', 'secret_env_var = "J"'])('names are found in %s', (text) => {
  expect(proxyVariableNames(text)).toContain('J')
})
