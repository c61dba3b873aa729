// Interoperability with the real Codex CLI, both ways: our exec client against its exec server, and
// its CLI against ours. `npm run interop:codex [-- options]`; needs a package registry the first time.
//
//   --codex BIN       this CLI instead of the one from the registry
//   --only PART       `client` (our client, both servers) or `cli` (the CLI, our server)
//   --scenario NAME   only this scenario of the CLI
//   --sandbox MODE    danger-full-access (default), workspace-write or read-only
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installCodex } from './interop/codex-cli.mjs'
import { runScenario } from './interop/codex/run-scenario.mjs'
import { scenarios } from './interop/codex/scenarios.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const { values: options } = parseArgs({
  options: {
    codex: { type: 'string' },
    only: { type: 'string' },
    scenario: { type: 'string' },
    sandbox: { type: 'string', default: 'danger-full-access' },
  },
})
if (options.scenario && !(options.scenario in scenarios))
  throw new Error(`unknown scenario ${options.scenario}; scenarios: ${Object.keys(scenarios).join(', ')}`)

const codex = options.codex ?? installCodex()
run(process.execPath, [join(root, 'scripts/build.mjs'), 'sidecars'])
let isGood = true
if (options.only !== 'cli') isGood = testClient()
if (options.only !== 'client') isGood = (await testCli()) && isGood
process.exitCode = isGood ? 0 : 1

function run(program, args, env = process.env) {
  return spawnSync(program, args, { cwd: root, env, stdio: 'inherit' }).status
}

/** The client's integration suite, against our server and against the CLI's. */
function testClient() {
  const parts = ['sidecars/exec-server/client', 'sidecars/exec-server/remote']
  const args = ['vitest', 'run', '--project', 'integration', ...parts]
  return run('npx', args, { ...process.env, GATEHOUSE_CODEX: codex }) === 0
}

/** Every scenario without a token, and the first one with it and by environments.toml. */
async function testCli() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-interop-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'interop-token\n', { mode: 0o600 })
  const open = await startOurServer(folder, [])
  const locked = await startOurServer(folder, ['--ws-auth', 'capability-token', '--ws-token-file', tokenFile])
  const names = options.scenario ? [options.scenario] : Object.keys(scenarios)
  const variants = [
    ...names.map((name) => ({ name, server: open, token: null, select: 'variable' })),
    { name: names[0], server: open, token: null, select: 'file' },
    { name: names[0], server: locked, token: 'interop-token', select: 'file' },
  ]
  let isGood = true
  try {
    for (const [index, variant] of variants.entries()) isGood = (await testVariant(folder, variant, index)) && isGood
  } finally {
    open.stop()
    locked.stop()
  }
  if (isGood) rmSync(folder, { recursive: true, force: true })
  console.log(isGood ? 'the CLI and our exec server understand each other' : `logs are in ${folder}`)
  return isGood
}

async function testVariant(folder, { name, server, token, select }, index) {
  const title = `${name}${select === 'file' ? ', by environments.toml' : ''}${token ? ', with a token' : ''}`
  const own = join(folder, `${index}-${name}`)
  mkdirSync(own)
  const { checks, log } = await runScenario(scenarios[name], {
    codex,
    serverUrl: server.url,
    token,
    select,
    sandboxMode: options.sandbox,
    folder: own,
    mark: `${process.pid}${index}`,
  })
  writeFileSync(join(own, 'log.txt'), log)
  const failed = Object.entries(checks).filter(([, isTrue]) => !isTrue)
  console.log(`${failed.length === 0 ? 'ok  ' : 'FAIL'} ${title} (${Object.keys(checks).length} checks)`)
  for (const [what] of failed) console.log(`     not true: ${what}`)
  return failed.length === 0
}

/** Commands run in login shells: a home without a profile keeps them quick. */
function startOurServer(folder, args) {
  const home = join(folder, 'server-home')
  mkdirSync(home, { recursive: true })
  const child = spawn(
    process.execPath,
    [join(root, 'out/sidecars/exec-server.cjs'), '--listen', 'ws://127.0.0.1:0', ...args],
    { env: { ...process.env, HOME: home, CODEX_HOME: home }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`our exec server ended with ${code}`)))
    child.stdout.once('data', (bytes) => resolve({ url: String(bytes).trim(), stop: () => child.kill() }))
  })
}
