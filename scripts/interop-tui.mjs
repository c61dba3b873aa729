// Drives the Codex CLI's terminal interface (`codex --remote`) against our app server and, as a control,
// against its own. `npm run interop:tui [-- options]`; needs tmux, and a package registry the first time.
//
//   --codex BIN    this CLI instead of the one from the registry
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installCodex } from './interop/codex-cli.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values: options } = parseArgs({ options: { codex: { type: 'string' } } })
if (spawnSync('tmux', ['-V']).status !== 0) throw new Error('tmux is missing; install it (apt-get install tmux)')

const env = { ...process.env, GATEHOUSE_CODEX: options.codex ?? installCodex() }
const run = (program, args) => spawnSync(program, args, { cwd: root, env, stdio: 'inherit' }).status === 0
const isGood =
  run(process.execPath, [join(root, 'scripts/build.mjs'), 'sidecars']) &&
  run('npx', ['vitest', 'run', '--project', 'interop', 'tui'])
process.exitCode = isGood ? 0 : 1
