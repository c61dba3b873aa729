// The Codex CLI that interoperability is tested with, in a folder of its own, outside the project.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The version whose wire we speak. */
const CODEX_VERSION = '0.171.0'

/**
 * @returns the path of its binary; installs it from the package registry the first time
 * @throws when it cannot be installed
 */
export function installCodex() {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  const folder = join(cache, 'gatehouse', `codex-${CODEX_VERSION}`)
  const binary = join(folder, 'node_modules/.bin/codex')
  if (existsSync(binary)) return binary
  mkdirSync(folder, { recursive: true })
  const npm = ['install', '--prefix', folder, '--no-audit', '--no-fund', `@openai/codex@${CODEX_VERSION}`]
  if (spawnSync('npm', npm, { stdio: 'inherit' }).status !== 0)
    throw new Error(`@openai/codex@${CODEX_VERSION} could not be installed; name a binary with --codex`)
  return binary
}
