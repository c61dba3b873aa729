// `npm test`: everything, in the order in which a fault is cheapest to find. `--only NAME[,NAME]` runs some
// steps. The last line, "N passed, N failed", is the sum of what the test runners themselves report; a step
// that fails without counting (build, types, lint, no Electron) counts as one failure.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DISPLAY_PACKAGES, ensureDebianPackages, missingTestPackages } from './debian-packages.mjs'
import { findElectron } from './electron-runtime.mjs'
import { RuntimeError } from './electron/runtime-error.mjs'
import { ensureBuild } from './ensure-build.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const reports = mkdtempSync(join(tmpdir(), 'gatehouse-reports-'))
const say = (line) => console.error(line)
const bin = (name) => join(root, 'node_modules/.bin', name)

/** Each step resolves with `{ passed, failed }`. */
const STEPS = {
  build: async () => counted(ensureBuild()),
  types: async () => counted((await run(bin('tsc'), ['-b'])) === 0),
  lint: async () => counted((await run('npm', ['run', '--silent', 'lint'])) === 0),
  unit: () => vitest('unit', ['unit', 'renderer']),
  integration: () => vitest('integration', ['integration']),
  e2e: endToEnd,
}

/** What failed, told again at the end: a log that is cut keeps its last lines. */
const failures = []

/** Remembers the failed tests of one file of vitest's report. */
function noteFailures({ name: path, status, message, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === 'failed')
  for (const test of failed) failures.push(`${path} > ${test.fullName}\n${test.failureMessages.join('\n')}`)
  if (status === 'failed' && failed.length === 0) failures.push(`${path}\n${message}`)
}

const counted = (ok) => ({ passed: 0, failed: ok ? 0 : 1 })

async function vitest(name, projects) {
  const report = join(reports, `${name}.json`)
  const code = await run(bin('vitest'), [
    'run',
    ...projects.flatMap((project) => ['--project', project]),
    '--reporter=default',
    '--silent=passed-only',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ])
  if (!existsSync(report)) return { passed: 0, failed: 1 }
  const { numPassedTests, numFailedTests, numTotalTests, testResults } = JSON.parse(readFileSync(report, 'utf8'))
  for (const file of testResults) noteFailures(file)
  if (numTotalTests === 0) say(`${name}: no test was found`)
  // A file that cannot be loaded, or an error outside a test, fails the run without a failed test.
  return { passed: numPassedTests, failed: Math.max(numFailedTests, code === 0 && numTotalTests > 0 ? 0 : 1) }
}

async function endToEnd() {
  const executable = await electronForTests()
  if (!executable) return { passed: 0, failed: 1 }
  const report = join(reports, 'e2e.json')
  const needsDisplay = process.platform === 'linux' && !process.env.GATEHOUSE_TEST_DISPLAY
  const words = ['test', '-c', 'e2e', '--reporter=list,json', ...playwrightWords]
  const env = {
    ...process.env,
    // The same executable for every way in which Playwright starts it.
    ELECTRON_OVERRIDE_DIST_PATH: dirname(executable),
    PLAYWRIGHT_JSON_OUTPUT_FILE: report,
  }
  // A virtual display of its own, so that tests neither need nor disturb a desktop.
  delete env.WAYLAND_DISPLAY
  delete env.XDG_SESSION_TYPE
  delete env.ELECTRON_RUN_AS_NODE
  const code = needsDisplay
    ? await run('xvfb-run', ['-a', '-s', '-screen 0 1440x900x24', bin('playwright'), ...words], env)
    : await run(bin('playwright'), words, env)
  if (!existsSync(report)) return { passed: 0, failed: 1 }
  const { expected, unexpected, flaky, skipped } = JSON.parse(readFileSync(report, 'utf8')).stats
  if (flaky > 0) say(`e2e: ${flaky} passed only when tried again`)
  if (skipped > 0) say(`e2e: ${skipped} did not run`)
  return { passed: expected + flaky, failed: Math.max(unexpected, code === 0 && expected + flaky > 0 ? 0 : 1) }
}

/** The end-to-end tests never skip: no Electron is a failure that says what to do. */
async function electronForTests() {
  if (!ensureDebianPackages(DISPLAY_PACKAGES, say)) return undefined
  try {
    return (await findElectron({ say })).executable
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    say(`the end-to-end tests need a real Electron and none can be had:\n${error.message}`)
    return undefined
  }
}

let running
function run(command, args, env = process.env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env })
    running = child
    child.on('error', (error) => {
      say(`${command}: ${error.message}`)
      resolve(1)
    })
    child.on('exit', (code, signal) => resolve(signal ? 1 : code))
  })
}
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    running?.kill(signal)
    rmSync(reports, { recursive: true, force: true })
    process.exit(130)
  })

const words = process.argv.slice(2)
const onlyAt = words.indexOf('--only')
const only = onlyAt === -1 ? undefined : (words.splice(onlyAt, 2)[1] ?? '').split(',')
/** Anything else goes to Playwright, e.g. a part of a spec's name. */
const playwrightWords = words
const unknown = (only ?? []).filter((name) => !(name in STEPS))
if (unknown.length > 0) {
  say(`unknown step ${unknown.join(', ')}; steps: ${Object.keys(STEPS).join(', ')}`)
  process.exit(2)
}
if (spawnSync(process.execPath, ['-e', "require.resolve('vitest')"], { cwd: root }).status !== 0) {
  say('node_modules is missing: run "npm ci" first')
  process.exit(1)
}

// Tests run what is in out/, so the build comes first whatever was asked for.
const wanted = Object.keys(STEPS).filter((name) => name === 'build' || !only || only.includes(name))
const runsCommands = wanted.some((name) => ['unit', 'integration', 'e2e'].includes(name))
if (runsCommands && !ensureDebianPackages(missingTestPackages(), say)) say('tests that run these programs will fail')
const total = { passed: 0, failed: 0 }
const failedSteps = []
for (const name of wanted) {
  const startedAtMs = Date.now()
  const { passed, failed } = await STEPS[name]()
  say(`-- ${name}: ${failed === 0 ? 'ok' : 'FAILED'} in ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s`)
  total.passed += passed
  total.failed += failed
  if (failed > 0) failedSteps.push(name)
  if (name === 'build' && failed > 0) break
}
rmSync(reports, { recursive: true, force: true })
for (const failure of failures) say(`\nfailed: ${failure}`)
if (failedSteps.length > 0) say(`failed: ${failedSteps.join(', ')}`)
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exitCode = total.failed === 0 ? 0 : 1
