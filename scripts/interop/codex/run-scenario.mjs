// Runs the Codex CLI once, with a scripted model on one side and an exec server on the other.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startScriptedModel } from './scripted-model.mjs'
import { startWireTap } from './wire-tap.mjs'

const PATIENCE_MS = 90_000

/**
 * @param make one of the scenarios
 * @param options `codex` (binary), `serverUrl`, `token` (or null), `select` (`variable` or `file`),
 *   `sandboxMode`, `folder` (scratch, made by the caller), `mark`
 * @returns checks by name, and a log for when one fails
 */
export async function runScenario(make, options) {
  const { codex, serverUrl, token, select, sandboxMode, folder, mark } = options
  const work = join(folder, 'work')
  const home = join(folder, 'home')
  mkdirSync(work, { recursive: true })
  mkdirSync(home, { recursive: true })
  const environmentId = select === 'file' || token ? 'interop' : 'remote'
  const scenario = await make({ mark, work, environmentId, sandboxMode })
  const model = await startScriptedModel(scenario.steps)
  const tap = await startWireTap(serverUrl, scenario.cutWhen)
  writeFileSync(join(home, 'config.toml'), configText(model.baseUrl, sandboxMode, scenario))
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, LANG: 'C.UTF-8', NO_PROXY: '127.0.0.1,localhost' }
  if (environmentId === 'interop') writeFileSync(join(home, 'environments.toml'), environmentsText(tap.url, token))
  else env.CODEX_EXEC_SERVER_URL = tap.url
  const { code, log } = await runCli(codex, work, env)
  model.close()
  tap.close()
  const calls = tap.said.filter((s) => s.from === 'client' && s.message.method).map((s) => s.message.method)
  // A tool that never answered is an empty text, not a crash of the check.
  const outputs = scenario.steps.map((_, i) => model.outputs[i]?.text ?? '')
  const checks = {
    'the CLI ended well': code === 0,
    'it shook hands': calls[0] === 'initialize' && calls.includes('initialized'),
    ...scenario.checks({ outputs, calls, said: tap.said, images: model.images }),
  }
  scenario.end?.()
  const wire = tap.said.map((s) => `${s.from === 'client' ? '>' : '<'} ${JSON.stringify(s.message).slice(0, 400)}`)
  return { checks, log: [log, '--- tool outputs', ...outputs, '--- wire', ...wire].join('\n') }
}

/** A scenario with a `profile` brings its own permissions instead of a sandbox mode. */
function configText(baseUrl, sandboxMode, { profile, features = [], config = [] }) {
  return [
    'model = "gpt-5-codex"',
    'model_provider = "scripted"',
    'approval_policy = "never"',
    profile ? `default_permissions = "${profile}"` : `sandbox_mode = "${sandboxMode}"`,
    'check_for_update_on_startup = false',
    '[analytics]',
    'enabled = false',
    // Both would look for servers on the internet.
    '[features]',
    'plugins = false',
    'apps = false',
    ...features,
    '[model_providers.scripted]',
    'name = "scripted"',
    `base_url = "${baseUrl}"`,
    'wire_api = "responses"',
    'requires_openai_auth = false',
    'request_max_retries = 0',
    'stream_max_retries = 0',
    'supports_websockets = false',
    ...config,
    '',
  ].join('\n')
}

function environmentsText(url, token) {
  return [
    'default = "interop"',
    'include_local = false',
    '[[environments]]',
    'id = "interop"',
    `url = "${url}"`,
    ...(token ? [`auth_bearer_token = "${token}"`] : []),
    '',
  ].join('\n')
}

function runCli(codex, work, env) {
  return new Promise((resolve) => {
    const child = spawn(codex, ['exec', '--skip-git-repo-check', '-C', work, '--json', 'play the script'], {
      env,
      cwd: work,
      stdio: ['ignore', 'pipe', 'pipe'],
      // The launcher is a shim around the program: they end together, as one group.
      detached: true,
    })
    let log = ''
    child.stdout.on('data', (bytes) => (log += bytes))
    child.stderr.on('data', (bytes) => (log += bytes))
    const timer = setTimeout(() => {
      log += `\n(ended after ${PATIENCE_MS} ms)`
      process.kill(-child.pid, 'SIGKILL')
    }, PATIENCE_MS)
    child.on('error', (error) => resolve({ code: -1, log: `cannot start ${codex}: ${error.message}` }))
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, log })
    })
  })
}
