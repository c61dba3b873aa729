/**
 * A few words beside a program that people should not miss: "deletes recursively". Words only: the
 * verdict comes from the rule engine in the host and nothing here can change it.
 */
import { unquote, type SimpleCommand } from './shell-parts.ts'

export interface CommandNote {
  /** The command as written, e.g. `rm -rf ./dist`. */
  command: string
  /** What it does, e.g. "deletes recursively"; null when there is nothing to say. */
  words: string | null
}

/** Programs that run the program named after their own options. */
const WRAPPERS = new Set([
  'sudo',
  'doas',
  'env',
  'nohup',
  'nice',
  'time',
  'timeout',
  'command',
  'exec',
  'xargs',
  'setsid',
  'stdbuf',
])
const INTERPRETERS = /^(?:python[\d.]*|node|deno|bun|perl|ruby|php)$/
const SHELLS = /^(?:ba|z|da|k|fi)?sh$/

type Judge = (args: string[], piped: boolean) => string | null
const has = (args: string[], ...flags: string[]): boolean =>
  args.some((argument) => flags.includes(argument.split('=')[0] ?? ''))
const hasShort = (args: string[], letters: string): boolean =>
  args.some((argument) => /^-[A-Za-z]+$/.test(argument) && [...letters].some((letter) => argument.includes(letter)))
const always =
  (words: string): Judge =>
  () =>
    words

const JUDGES: Record<string, Judge> = {
  rm: (args) => (hasShort(args, 'rR') || has(args, '--recursive') ? 'deletes recursively' : 'deletes files'),
  rmdir: always('deletes folders'),
  shred: always('destroys files'),
  unlink: always('deletes a file'),
  dd: (args) => (args.some((argument) => argument.startsWith('of=')) ? 'writes raw bytes to a file or disk' : null),
  mkfs: always('formats a disk'),
  truncate: always('cuts files'),
  find: (args) =>
    has(args, '-delete')
      ? 'deletes what it finds'
      : has(args, '-exec', '-execdir', '-ok')
        ? 'runs a program on what it finds'
        : null,
  chmod: (args) =>
    hasShort(args, 'R') || has(args, '--recursive') ? 'changes permissions recursively' : 'changes permissions',
  chown: (args) => (hasShort(args, 'R') || has(args, '--recursive') ? 'changes owners recursively' : 'changes owners'),
  kill: always('stops processes'),
  pkill: always('stops processes by name'),
  killall: always('stops processes by name'),
  git: noteGit,
  sudo: always('runs with another user’s rights'),
  doas: always('runs with another user’s rights'),
  su: always('runs with another user’s rights'),
  eval: always('runs text as a command'),
  source: always('runs a file in this shell'),
  ssh: always('runs on another machine'),
  scp: always('copies to or from another machine'),
  rsync: (args) =>
    args.some((argument) => argument.startsWith('--delete')) ? 'deletes what is not in the source' : null,
  curl: always('uses the network'),
  wget: always('uses the network'),
  npm: (args) => (has(args, 'publish', 'unpublish', 'deprecate') ? 'publishes a package' : null),
  cargo: (args) => (has(args, 'publish', 'yank') ? 'publishes a package' : null),
  twine: (args) => (has(args, 'upload') ? 'publishes a package' : null),
  docker: (args) => (has(args, '--privileged') ? 'runs a container with full rights' : null),
  crontab: always('changes what runs by itself'),
  systemctl: always('changes services'),
}

/** One note a program, in order; wrappers such as `sudo` speak for what they run as well. */
export function noteCommands(commands: readonly SimpleCommand[]): CommandNote[] {
  return commands.map(({ words, piped }) => ({ command: words.join(' '), words: describe(words.map(unquote), piped) }))
}

function describe(words: string[], piped: boolean): string | null {
  const [first = '', ...args] = words
  const program = first.slice(first.lastIndexOf('/') + 1)
  const own = Object.hasOwn(JUDGES, program)
    ? (JUDGES[program]?.(args, piped) ?? null)
    : describeInterpreter(program, args, piped)
  const mkfs = program.startsWith('mkfs.') ? 'formats a disk' : null
  if (!WRAPPERS.has(program)) return own ?? mkfs
  const inner = args.findIndex(
    (argument) => !argument.startsWith('-') && !argument.includes('=') && !/^\d+[smhd]?$/.test(argument),
  )
  const wrapped = inner < 0 ? null : describe(args.slice(inner), piped)
  return [own, wrapped].filter((part) => part !== null).join(', ') || null
}

function describeInterpreter(program: string, args: string[], piped: boolean): string | null {
  if (SHELLS.test(program))
    return piped && args.every((argument) => argument.startsWith('-')) ? 'runs whatever it is sent' : null
  if (!INTERPRETERS.test(program)) return null
  if (piped && args.length === 0) return 'runs whatever it is sent'
  return has(args, '-c', '-e', '--eval', '-p', '--print') ? 'runs code given in the line' : null
}

function noteGit(args: string[]): string | null {
  const at = args.findIndex((argument, index) => !argument.startsWith('-') && !/^-[cC]$/.test(args[index - 1] ?? ''))
  const rest = args.slice(at + 1)
  switch (args[at]) {
    case 'push': {
      const forced = has(rest, '--force', '--force-with-lease', '--mirror') || hasShort(rest, 'f')
      if (forced || rest.some((argument) => argument.startsWith('+'))) return 'rewrites history on the remote'
      return has(rest, '--delete') || hasShort(rest, 'd') ? 'deletes on the remote' : 'publishes commits'
    }
    case 'reset':
      return has(rest, '--hard') ? 'discards changes' : null
    case 'clean':
      return hasShort(rest, 'f') || has(rest, '--force') ? 'deletes untracked files' : null
    case 'checkout':
    case 'restore':
      return has(rest, '--', '.') ? 'discards changes' : null
    case 'rebase':
    case 'filter-branch':
    case 'filter-repo':
      return 'rewrites history'
    case 'branch':
      return hasShort(rest, 'D') ? 'deletes a branch' : null
    default:
      return null
  }
}
