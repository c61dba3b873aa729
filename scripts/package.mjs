// `npm run package:dir` builds the app folder in dist/ for this platform, without installers and, on a
// machine that reaches nothing but a package registry, without any download. `npm run package` builds the
// installers of electron-builder.yml; that needs the internet. Words after `--` go to electron-builder.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findElectron } from './electron-runtime.mjs'
import { RuntimeError } from './electron/runtime-error.mjs'
import { ensureBuild } from './ensure-build.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Lays out what a plain Node needs to run `gatehouse` beside the installed app: the same folders as in a
 * checkout, so that `bin/gatehouse` finds its bundles, and the one native module they load.
 */
function stageCommandLine() {
  const stage = join(root, 'out/command-line')
  rmSync(stage, { recursive: true, force: true })
  for (const part of ['bin', 'out/cli', 'out/sidecars'])
    cpSync(join(root, part), join(stage, part), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules/@lydell')))
    cpSync(join(root, 'node_modules/@lydell', name), join(stage, 'node_modules/@lydell', name), { recursive: true })
  mkdirSync(join(root, 'dist'), { recursive: true })
}

/** The official runtime is fetched by electron-builder itself; any other is handed over as a folder. */
function runtimeWords({ executable, kind }) {
  if (kind === 'official') return []
  const folder = dirname(executable)
  const version = readFileSync(join(folder, 'version'), 'utf8').trim().replace(/^v/, '')
  return [`-c.electronDist=${folder}`, `-c.electronVersion=${version}`]
}

async function main() {
  if (!ensureBuild()) return 1
  stageCommandLine()
  const words = process.argv.slice(2)
  const builder = join(root, 'node_modules/.bin/electron-builder')
  if (!existsSync(builder)) throw new Error('node_modules is missing: run "npm ci" first')
  const build = spawnSync(builder, [...words, ...runtimeWords(await findElectron())], { cwd: root, stdio: 'inherit' })
  return build.status ?? 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof RuntimeError)) throw error
  console.error(error.message)
  process.exitCode = error.exitCode
}
