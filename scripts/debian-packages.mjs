// The system packages that a window needs on a bare Debian: installs them when run as root, says the
// command otherwise. `node scripts/debian-packages.mjs` does both for the window and the tests.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A virtual display and the libraries Electron links against. */
export const DISPLAY_PACKAGES = ['xvfb', 'xauth', 'libgtk-3-0', 'libnss3', 'libasound2', 'libgbm1', 'fonts-dejavu-core']
/** Programs that tests run as commands of agents, and what confines them, with the package each comes in. */
const TEST_PROGRAMS = { bwrap: 'bubblewrap', curl: 'curl', git: 'git', pgrep: 'procps', python3: 'python3' }

/** The packages of those programs that are not on PATH, wherever they could have come from. */
export function missingTestPackages() {
  const folders = (process.env.PATH ?? '').split(':')
  const isThere = (program) => folders.some((folder) => existsSync(join(folder, program)))
  return Object.entries(TEST_PROGRAMS).flatMap(([program, name]) => (isThere(program) ? [] : [name]))
}

/** The exact command for people. */
export function aptLine(packages) {
  return `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`
}

/**
 * Makes sure that `packages` are installed and returns whether they are. Anything but Debian and its
 * children is taken to be in order: there we neither know the names nor touch the system.
 */
export function ensureDebianPackages(packages, say = (line) => console.error(line)) {
  if (!isDebian()) return true
  const missing = packages.filter((name) => !isInstalled(name))
  if (missing.length === 0) return true
  if (process.getuid?.() !== 0) {
    say(`missing system packages; install them with:\n  ${aptLine(missing)}`)
    return false
  }
  say(`installing system packages with apt-get: ${missing.join(' ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const steps = [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...missing],
  ]
  for (const words of steps) {
    const apt = spawnSync('apt-get', words, { env, encoding: 'utf8', timeout: 300_000 })
    if (apt.status !== 0) {
      say(`apt-get ${words[0]} failed: ${(apt.stderr || String(apt.error ?? apt.signal)).trim()}`)
      say(`install them with:\n  ${aptLine(missing)}`)
      return false
    }
  }
  return true
}

function isDebian() {
  if (process.platform !== 'linux' || !existsSync('/etc/os-release')) return false
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'))
}

/** Newer releases carry the same library under a name ending in t64. */
function isInstalled(name) {
  return [name, `${name}t64`].some((candidate) => {
    const query = spawnSync('dpkg-query', ['-W', '-f=${Status}', candidate], { encoding: 'utf8' })
    return query.status === 0 && query.stdout.endsWith(' installed')
  })
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = ensureDebianPackages([...DISPLAY_PACKAGES, ...missingTestPackages()]) ? 0 : 1
