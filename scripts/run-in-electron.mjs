// Runs a set of Playwright specs that is no part of `npm test`, in the Electron that the tests use.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DISPLAY_PACKAGES, ensureDebianPackages } from './debian-packages.mjs'
import { findElectron } from './electron-runtime.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const say = (line) => console.error(line)

/**
 * Builds, then runs what `config` names; a virtual display of its own unless GATEHOUSE_TEST_DISPLAY is set.
 * @returns whether all of it passed
 */
export async function runInElectron(config, { env: more = {}, words = [] } = {}) {
  if (!ensureDebianPackages(DISPLAY_PACKAGES, say)) throw new Error('the display libraries are missing, see above')
  const { executable } = await findElectron({ say })
  const env = { ...process.env, ...more, ELECTRON_OVERRIDE_DIST_PATH: dirname(executable) }
  delete env.ELECTRON_RUN_AS_NODE
  const run = (program, args) => spawnSync(program, args, { cwd: root, env, stdio: 'inherit' }).status === 0
  const playwright = [join(root, 'node_modules/.bin/playwright'), 'test', '-c', config, '--reporter=list', ...words]
  if (!run(process.execPath, [join(root, 'scripts/build.mjs')])) return false
  return process.platform === 'linux' && !process.env.GATEHOUSE_TEST_DISPLAY
    ? run('xvfb-run', ['-a', '-s', '-screen 0 1440x900x24', ...playwright])
    : run(playwright[0], playwright.slice(1))
}
