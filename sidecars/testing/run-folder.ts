import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where managers of toolchains keep what they installed, when that is below the home. */
const TOOLCHAINS = { RUSTUP_HOME: '.rustup', PYENV_ROOT: '.pyenv' }

/**
 * One folder for all that a test run writes: its temporary files and an empty home. Shells of tests read no profile
 * of this machine (one can take a minute, or wait for a lock), programs no settings of its owner, and whatever a
 * test leaves behind goes with the folder. Its path is short, since sockets below it may not have paths of more
 * than 107 bytes.
 */
export default function runFolder(): () => void {
  const before = { ...process.env }
  const folder = mkdtempSync(join(tmpdir(), 'gh-'))
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  for (const name of Object.keys(process.env))
    if (/^(XDG_(CONFIG|DATA|STATE|CACHE)_HOME|GATEHOUSE_HOME|CODEX_HOME|BASH_ENV|ENV|ZDOTDIR)$/.test(name))
      delete process.env[name]
  for (const [name, path] of Object.entries(TOOLCHAINS))
    if (existsSync(join(homedir(), path))) process.env[name] ??= join(homedir(), path)
  process.env.TMPDIR = folder
  process.env.HOME = home
  return () => {
    process.env = before
    // A process that just ended may still be writing its last file.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
