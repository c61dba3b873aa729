/** First words that no click may turn into a standing permission: too much would follow them. */
import { readCommandWrapper } from './command-wrapper.ts'
import { isLauncher } from './launcher.ts'
import { readRemoteShell } from './remote-shell.ts'
import { programName, readShellWrapper } from './shell-wrapper.ts'

/** Run the text or file that follows; a file is acceptable, text or nothing is not. */
const INTERPRETERS =
  /^(python|pypy|node|deno|bun|ruby|perl|php|lua|luajit|Rscript|osascript|pwsh|powershell|tclsh|wish|awk|gawk|mawk|nawk|expect|guile|julia|groovy|jshell)[\d.]*$/
/** Fetch and run a package that is named behind them. */
const RUNNERS = new Set(['npx', 'bunx', 'pnpx', 'uvx', 'pipx', 'dlx'])
/** Do so many different things that their name alone says nothing. */
const TOOLBOXES = new Set(
  'git gh hg svn npm yarn pnpm cargo go rustup pip pip3 poetry uv conda docker podman kubectl helm terraform ansible aws gcloud az make gradle mvn brew apt apt-get dnf yum pacman snap systemctl launchctl'.split(
    ' ',
  ),
)
/** Destroy what lies behind the words that a rule names, since a rule holds for longer lines too. */
const DESTRUCTIVE = new Set(
  'rm rmdir unlink shred dd mkfs fdisk parted wipefs truncate chmod chown chgrp shutdown reboot halt poweroff kill pkill killall fuser crontab at mount umount'.split(
    ' ',
  ),
)

/** Why nobody may save a rule that allows everything beginning with these words; undefined when one may. */
export function whyLauncher(words: readonly string[]): string | undefined {
  const name = programName(words[0] ?? '')
  if (readShellWrapper(words)) return `${name} runs whatever text follows it`
  if (readCommandWrapper(words) || isLauncher(name) || readRemoteShell(words) || RUNNERS.has(name))
    return `${name} starts other programs`
  if (INTERPRETERS.test(name) && (words[1] === undefined || words[1].startsWith('-')))
    return `${name} runs whatever code follows it`
  return undefined
}

/** Why such a rule is not offered with a card, though the owner may type it. */
export function whyNotOffered(words: readonly string[]): string | undefined {
  const name = programName(words[0] ?? '')
  if (TOOLBOXES.has(name) && words.length === 1) return `${name} alone covers too many different acts`
  if (DESTRUCTIVE.has(name) || name.startsWith('mkfs.'))
    return `${name} destroys or ends things, and a rule holds for longer lines too`
  return whyLauncher(words)
}

/** `whyLauncher` for a pattern with alternatives: one such program is enough. */
export function whyPatternLauncher([programs = [], ...rest]: readonly string[][]): string | undefined {
  const following = rest.map(([word = '']) => word)
  for (const program of programs) {
    const why = whyLauncher([program, ...following])
    if (why !== undefined) return why
  }
  return undefined
}
