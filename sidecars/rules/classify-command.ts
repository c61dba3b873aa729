/**
 * What a single program is known to do, in words for people: only read, destroy, hand out secrets, reach
 * the network, end processes. It decides where no rule does, and says on a card why it is worth a look.
 * Sources: the programs' manuals; the list of safe programs is the one of the session contract.
 */
import { findRiskyArgument } from './risky-arguments.ts'
import { programName } from './shell-wrapper.ts'
import type { Words } from './started.ts'

export type TraitKind = 'safe' | 'dangerous' | 'network'
export interface CommandTrait {
  kind: TraitKind
  /** A clause: "deletes without asking". */
  reason: string
}

const SAFE = new Set(
  'cat cd cut echo expr false grep egrep fgrep head id ls nl paste pwd rev seq stat tail tr true uname uniq wc which whoami numfmt tac basename dirname realpath readlink date df du file hostname printf test sleep'.split(
    ' ',
  ),
)
const SAFE_WITH_CHECKED_ARGUMENTS = new Set([
  'find',
  'rg',
  'sed',
  'sort',
  'base64',
  'fd',
  'tree',
  'diff',
  'cmp',
  'comm',
])
/** `-o` and the like of programs that are safe without. */
const WRITES: Record<string, RegExp> = {
  base64: /^-\w*o|^--output/,
  tree: /^-\w*o/,
  fd: /^-\w*[xX]|^--exec/,
  date: /^-\w*s|^--set/,
  hostname: /^[^-]|^-\w*F|^--file/,
  file: /^-\w*C|^--compile/,
}

type Check = (args: string[]) => string | undefined
const has = (args: string[], pattern: RegExp): boolean => args.some((arg) => pattern.test(arg))
/** A short option alone or in a cluster, or a long one. */
const option = (short: string, ...long: string[]): RegExp =>
  new RegExp(`^-[A-Za-z]*[${short}]|^--(${long.join('|') || '$^'})(=|$)`)
const sub = (args: string[]): string => args.find((arg) => !arg.startsWith('-')) ?? ''

const FORCE = option('f', 'force')
const DANGEROUS: Record<string, Check> = {
  rm: (args) =>
    has(args, FORCE)
      ? 'deletes without asking'
      : has(args, option('rR', 'recursive'))
        ? 'deletes whole folders'
        : undefined,
  shred: () => 'destroys the content of files',
  srm: () => 'destroys the content of files',
  find: (args) => (args.includes('-delete') ? 'deletes what it finds' : undefined),
  dd: (args) => (has(args, /^of=/) ? 'writes over a device or file' : undefined),
  git: gitDanger,
  npm: publishes('publish', 'unpublish', 'deprecate', 'owner', 'access', 'token'),
  pnpm: publishes('publish'),
  yarn: publishes('publish'),
  cargo: publishes('publish', 'yank', 'owner'),
  gem: publishes('push', 'yank'),
  twine: publishes('upload'),
  poetry: publishes('publish'),
  docker: (args) =>
    sub(args) === 'push'
      ? 'publishes an image'
      : has(args, /^prune$/)
        ? 'deletes images, containers or volumes'
        : undefined,
  gh: (args) =>
    /^(release (create|delete|upload)|repo (create|delete|edit)|secret|auth token)/.test(args.join(' '))
      ? 'changes or reveals something on GitHub'
      : undefined,
  terraform: publishes('apply', 'destroy'),
  kubectl: publishes('apply', 'delete', 'drain', 'replace', 'scale'),
  security: () => 'reads the keychain',
  pass: () => 'reads the password store',
  'secret-tool': () => 'reads the keyring',
  op: () => 'reads the password store',
  gpg: (args) => (has(args, /^--export-secret/) ? 'hands out private keys' : undefined),
  sudo: () => 'runs with the rights of the administrator',
  doas: () => 'runs with the rights of the administrator',
  su: () => 'runs as another user',
}
for (const name of ['fdisk', 'parted', 'wipefs', 'sfdisk', 'sgdisk', 'blkdiscard', 'mkswap', 'cryptsetup', 'diskutil'])
  DANGEROUS[name] = () => 'changes disks'
for (const name of ['shutdown', 'reboot', 'halt', 'poweroff']) DANGEROUS[name] = () => 'ends the whole machine'
for (const name of ['kill', 'pkill', 'killall', 'skill', 'xkill', 'fuser'])
  DANGEROUS[name] = (args) =>
    name === 'kill' && has(args, /^-l$/)
      ? undefined
      : name === 'fuser' && !has(args, option('k', 'kill'))
        ? undefined
        : 'ends processes and can hit Gatehouse itself'

const NETWORK = new Set(
  'curl wget http https xh aria2c ssh scp sftp rsync ftp telnet nc ncat netcat socat nmap dig nslookup host ping traceroute mosh openssl aws gcloud az gsutil s3cmd rclone gh hub glab docker podman kubectl helm terraform brew apt apt-get dnf yum pacman pip pip3 pipx uv npx bunx pnpx gem'.split(
    ' ',
  ),
)
const NETWORK_SUBCOMMANDS: Record<string, RegExp> = {
  git: /^(clone|fetch|pull|push|ls-remote|remote|submodule|archive|send-email|lfs)$/,
  npm: /^(install|i|ci|add|update|publish|view|search|audit|login|outdated|exec|x)$/,
  pnpm: /^(install|i|add|update|publish|dlx|audit|outdated)$/,
  yarn: /^(install|add|up|upgrade|publish|dlx|audit)?$/,
  cargo: /^(install|fetch|update|publish|search|login|add)$/,
  go: /^(get|install|mod)$/,
  bundle: /^(install|update)$/,
  composer: /^(install|update|require)$/,
  poetry: /^(install|add|update|publish)$/,
}
/** Files that hold keys, tokens or passwords, as they are usually called. */
const SECRET_FILE =
  /(^|\/)(\.ssh|\.gnupg|\.aws|\.kube|\.docker|\.config\/gcloud|\.password-store)(\/|$)|(^|\/)(\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.env(\.\w+)?|id_(rsa|dsa|ecdsa|ed25519)|credentials|auth\.json|shadow|master\.passwd)$|\.(pem|key|p12|pfx|jks|keychain-db)$|^\/proc\/[^/]+\/environ$/

/** Everything known of a command; empty when nothing is. Words only known at run time make it neither safe nor less dangerous. */
export function classifyCommand(words: Words): CommandTrait[] {
  const [program] = words
  if (program === undefined) return []
  const name = programName(program)
  const args = words.slice(1).filter((word) => word !== undefined)
  const traits: CommandTrait[] = []
  const danger = dangerOf(name, args)
  if (danger !== undefined) traits.push({ kind: 'dangerous', reason: danger })
  const network = Object.hasOwn(NETWORK_SUBCOMMANDS, name)
    ? NETWORK_SUBCOMMANDS[name]!.test(sub(args))
    : NETWORK.has(name)
  if (network) traits.push({ kind: 'network', reason: 'uses the network' })
  if (traits.length === 0 && args.length === words.length - 1 && isSafe(program, name, args))
    traits.push({ kind: 'safe', reason: 'only reads' })
  return traits
}

function dangerOf(name: string, args: string[]): string | undefined {
  const own = Object.hasOwn(DANGEROUS, name) ? DANGEROUS[name]!(args) : undefined
  if (own !== undefined) return own
  if (name.startsWith('mkfs')) return 'makes a file system, which deletes everything on the device'
  const secret = args.find((arg) => SECRET_FILE.test(arg.replace(/^@/, '').replace(/^[^=/]*=/, '')))
  return secret === undefined ? undefined : `may reveal secrets (${secret})`
}

/** By name only: a program called by its path may be anything. */
function isSafe(program: string, name: string, args: string[]): boolean {
  if (program !== name) return false
  if (Object.hasOwn(WRITES, name) && has(args, WRITES[name]!)) return false
  if (!SAFE.has(name) && !SAFE_WITH_CHECKED_ARGUMENTS.has(name)) return false
  return findRiskyArgument([name, ...args]) === undefined
}

function publishes(...subcommands: string[]): Check {
  return (args) => (subcommands.includes(sub(args)) ? 'publishes or changes something that others use' : undefined)
}

function gitDanger(args: string[]): string | undefined {
  const at = args.findIndex((arg, i) => !arg.startsWith('-') && !/^-[cC]$/.test(args[i - 1] ?? ''))
  const rest = args.slice(at + 1)
  switch (args[at]) {
    case 'push':
      return has(rest, /^-\w*[fd]|^--(force|delete|mirror|prune)|^\+|^:/)
        ? 'rewrites or deletes what others have'
        : 'publishes commits'
    case 'reset':
      return has(rest, /^--(hard|merge|keep)$/) ? 'throws away changes' : undefined
    case 'clean':
      return has(rest, FORCE) ? 'deletes files that git does not know' : undefined
    case 'checkout':
      return has(rest, /^(-\w*f|--force|--|\.)$/) ? 'throws away changes' : undefined
    case 'restore':
      return 'throws away changes'
    case 'rebase':
    case 'filter-branch':
    case 'filter-repo':
    case 'replace':
      return 'rewrites history'
    case 'commit':
      return rest.includes('--amend') ? 'rewrites history' : undefined
    case 'reflog':
      return /^(expire|delete)$/.test(rest[0] ?? '') ? 'destroys what history could be recovered from' : undefined
    case 'gc':
      return has(rest, /^--prune/) ? 'destroys what history could be recovered from' : undefined
    case 'update-ref':
      return 'moves or deletes branches'
    case 'branch':
      return has(rest, /^-\w*[DMf]|^--(delete|force)$/) ? 'deletes or moves branches' : undefined
    case 'tag':
      return has(rest, /^-\w*[df]|^--(delete|force)$/) ? 'deletes or moves tags' : undefined
    case 'stash':
      return /^(drop|clear)$/.test(rest[0] ?? '') ? 'throws away changes' : undefined
    case 'worktree':
      return rest[0] === 'remove' ? 'deletes a working folder' : undefined
    case 'credential':
      return 'hands out passwords'
    default:
      return undefined
  }
}
