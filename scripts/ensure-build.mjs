// Knows which parts of out/ are older than their sources, and builds just those.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The folders each part is bundled from. */
const SOURCES = {
  sidecars: ['sidecars'],
  cli: ['main', 'sidecars', 'preload'],
  main: ['main', 'sidecars', 'preload'],
  preload: ['preload', 'sidecars/protocol'],
  renderer: ['renderer', 'preload', 'sidecars/protocol'],
}
/** A change of these makes every part stale. */
const SHARED = ['package-lock.json', 'scripts/build.mjs']

/** The file whose time says when a part was last built. */
export const stampOf = (part) => join(root, 'out', `.built-${part}`)

/** Builds what is missing or stale. Returns false, with the build's own output shown, when that fails. */
export function ensureBuild() {
  const stale = Object.keys(SOURCES).filter(isStale)
  if (stale.length === 0) return true
  const build = spawnSync(process.execPath, [join(root, 'scripts/build.mjs'), ...stale], { stdio: 'inherit' })
  return build.status === 0
}

function isStale(part) {
  if (!existsSync(stampOf(part))) return true
  const builtAtMs = statSync(stampOf(part)).mtimeMs
  return [...SHARED, ...SOURCES[part]].some((path) => newestMs(join(root, path)) > builtAtMs)
}

function newestMs(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))))
}
