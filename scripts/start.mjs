// `npm start`: builds what is stale, gets an Electron and opens the window. Without a display (a server, an
// SSH session) the same host runs headless instead. Words after `--` go to the app.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DISPLAY_PACKAGES, ensureDebianPackages } from './debian-packages.mjs'
import { findElectron } from './electron-runtime.mjs'
import { RuntimeError } from './electron/runtime-error.mjs'
import { ensureBuild } from './ensure-build.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const say = (line) => console.error(line)

function hasDisplay() {
  return process.platform !== 'linux' || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY)
}

async function electronOrReason() {
  ensureDebianPackages(DISPLAY_PACKAGES, say)
  try {
    return (await findElectron({ say })).executable
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    say(error.message)
    return undefined
  }
}

function runWindow(executable, words) {
  // Chromium refuses its own sandbox to root; everyone else keeps it.
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0
  if (isRoot) say("running as root: the window works without Chromium's operating system sandbox")
  const env = { ...process.env }
  // Set in terminals of editors that are Electron apps themselves; it would turn the window into a Node.
  delete env.ELECTRON_RUN_AS_NODE
  return run(executable, [...(isRoot ? ['--no-sandbox'] : []), root, ...words], env)
}

function runHeadless(words) {
  say('no window here, so the host runs without one (`gatehouse` below is `node bin/gatehouse`)')
  return run(process.execPath, [join(root, 'bin/gatehouse'), 'serve', ...words], process.env)
}

/** Resolves with the exit code; the child gets our terminal and our signals. */
function run(command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env })
    // Ctrl+C reaches the child by itself (same terminal); we only wait for it to finish its goodbye.
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(signal ? 1 : code))
  })
}

if (!existsSync(join(root, 'node_modules/vite'))) {
  say('node_modules is missing: run "npm ci" first')
  process.exitCode = 1
} else if (!ensureBuild()) {
  say('the build failed; nothing was started')
  process.exitCode = 1
} else {
  const words = process.argv.slice(2)
  const executable = hasDisplay() ? await electronOrReason() : undefined
  process.exitCode = await (executable ? runWindow(executable, words) : runHeadless(words))
}
