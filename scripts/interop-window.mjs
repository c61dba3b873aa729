// Drives our window in a real Electron against the Codex CLI's own app server, with a scripted model: the
// setting, list, start, approve, interrupt, a lost link. `npm run interop:window [-- options]`; needs a package
// registry the first time.
//
//   --codex BIN    this CLI instead of the one from the registry
import { parseArgs } from 'node:util'
import { installCodex } from './interop/codex-cli.mjs'
import { runInElectron } from './run-in-electron.mjs'

const { values: options } = parseArgs({ options: { codex: { type: 'string' } } })
const env = { GATEHOUSE_CODEX: options.codex ?? installCodex() }
process.exitCode = (await runInElectron('e2e/interop.config.ts', { env })) ? 0 : 1
