/** network.toml of a real host: a command that has a placeholder, and an origin that gets the secret. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { CliHome, until } from './cli-fixture.ts'

const SECRET = 'the-real-token'
const PLACEHOLDER = 'gh-placeholder-1'
let home: CliHome
afterEach(() => home.dispose())

/** Says which credential arrived. */
async function secureOrigin(certificate: string, key: string): Promise<number> {
  const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, response) =>
    response.end(`origin saw ${request.headers.authorization}\n`),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const hooked = (port: number, path = '/api') => `
[mitm]
version = 2
[mitm.hooks.api]
host = "secure.localhost"
methods = ["GET"]
path_prefixes = ["${path}"]
ports = [${port}]
action = ["token"]
[mitm.actions.token]
inject_request_headers = [{ name = "Authorization", secret_env_var = "DEMO_TOKEN", placeholder = "${PLACEHOLDER}" }]
`

test('a hook gives the origin a secret that no command has; a change of the file holds for the next command', async () => {
  home = new CliHome({ DEMO_TOKEN: SECRET })
  const [certificate, key] = [join(home.homeDir, 'cert.pem'), join(home.homeDir, 'key.pem')]
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=secure.localhost', '-addext', 'subjectAltName=DNS:secure.localhost']
  execFileSync('openssl', [...words, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  home.env.SSL_CERT_FILE = certificate
  const port = await secureOrigin(certificate, key)
  mkdirSync(join(home.dataDir, 'rules'))
  writeFileSync(
    join(home.dataDir, 'rules/test.rules'),
    'network_rule(host="secure.localhost", protocol="https", decision="allow")\n',
  )
  writeFileSync(join(home.dataDir, 'settings.json'), JSON.stringify({ allowLocalBinding: true }))
  const file = join(home.dataDir, 'network.toml')
  writeFileSync(file, hooked(port))
  await home.serve()

  const ask = async (path: string): Promise<string> => {
    const script = `echo "child has $DEMO_TOKEN"; NO_PROXY= no_proxy= curl -sS -H "Authorization: Bearer $DEMO_TOKEN" https://secure.localhost:${port}${path}`
    const { stdout, stderr } = await home.run(['run', '--', 'sh', '-c', script])
    return `${stdout.toString()}${stderr}`
  }
  expect(await ask('/api/x')).toBe(`child has ${PLACEHOLDER}\norigin saw Bearer ${SECRET}\n`)
  expect(await ask('/other')).toContain('No inspection hook of Gatehouse matches this request')

  writeFileSync(file, hooked(port, '/v2'))
  await until(async () => (await ask('/v2/x')).includes(`origin saw Bearer ${SECRET}`))

  const journal = join(home.dataDir, 'audit')
  for (const name of readdirSync(journal)) expect(readFileSync(join(journal, name), 'utf8')).not.toContain(SECRET)
}, 120_000)
