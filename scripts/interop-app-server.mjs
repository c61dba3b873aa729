// Holds our app server and the Codex CLI's own to the same tests, over stdio, WebSocket and unix socket.
// `npm run interop:app-server [-- options]`; needs a package registry the first time.
//
//   --codex BIN    this CLI instead of the one from the registry
//   --only WHOSE   `ours` or `codex`
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installCodex } from './interop/codex-cli.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values: options } = parseArgs({ options: { codex: { type: 'string' }, only: { type: 'string' } } })
if (options.only && !['ours', 'codex'].includes(options.only))
  throw new Error(`--only: "${options.only}" is none of ours, codex`)

const codex = options.only === 'ours' ? null : (options.codex ?? installCodex())
const env = { ...process.env, GATEHOUSE_TRANSPORTS: 'all', ...(codex && { GATEHOUSE_CODEX: codex }) }
const run = (program, args) => spawnSync(program, args, { cwd: root, env, stdio: 'inherit' }).status === 0

const names = options.only === 'ours' ? ['-t', '^Gatehouse'] : options.only === 'codex' ? ['-t', '^Codex'] : []
const isGood =
  run(process.execPath, [join(root, 'scripts/build.mjs'), 'sidecars']) &&
  run('npx', ['vitest', 'run', '--project', 'integration', 'sidecars/mcp-server/app-server/protocol', ...names])
process.exitCode = isGood ? 0 : 1
