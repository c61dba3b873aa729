/**
 * Arguments with which a program does more than its rule says: run other programs, write files, rewrite
 * history. A rule that allows `git log` was not written with `--output=…` in mind, so it asks instead.
 * Sources: the manuals of git, GNU find, sed, sort, tar, ripgrep and npm.
 */
import { programName } from './shell-wrapper.ts'

type Check = (args: string[]) => string | undefined

const option =
  (short: string, ...long: string[]): Check =>
  (args) =>
    args.find((arg) => isShort(arg, short) || long.some((name) => isLong(arg, name)))

/** `-o`, `-oFILE`, and `-no` in a cluster. */
function isShort(arg: string, letters: string): boolean {
  return /^-[^-]/.test(arg) && [...letters].some((letter) => arg.slice(1).includes(letter))
}

/** `--output`, `--output=x` and, since GNU and git accept them, abbreviations of three letters and more. */
function isLong(arg: string, name: string): boolean {
  if (!arg.startsWith('--')) return false
  const given = arg.slice(2).split('=', 1)[0]!
  return given === name || (given.length >= 3 && name.startsWith(given))
}

const words =
  (...names: string[]): Check =>
  (args) =>
    args.find((arg) => names.includes(arg))

const any =
  (...checks: Check[]): Check =>
  (args) => {
    for (const check of checks) {
      const found = check(args)
      if (found !== undefined) return found
    }
    return undefined
  }

const always: Check = (args) => args[0] ?? ''

const GIT_READING = any(option('', 'output', 'ext-diff', 'textconv', 'no-index', 'exec-path', 'upload-pack'))
const GIT: Record<string, Check> = {
  diff: GIT_READING,
  log: GIT_READING,
  show: GIT_READING,
  status: GIT_READING,
  grep: any(option('O', 'open-files-in-pager', 'no-index', 'ext-grep', 'textconv')),
  branch: option(
    'dDfmMcCu',
    'delete',
    'force',
    'move',
    'copy',
    'set-upstream-to',
    'unset-upstream',
    'edit-description',
  ),
  'ls-remote': option('', 'upload-pack', 'exec'),
  fetch: option('f', 'upload-pack', 'force', 'prune'),
}

/** Only `-n`, `-E`, `-r`, `-s` with scripts that print lines: `sed -n 1,20p file`. */
const sedScript: Check = (args) => {
  const operands = args.filter((arg) => !/^-[nErs]+$/.test(arg))
  const [script, ...files] = operands
  if (script === undefined || !/^(\d+|\$)?(,(\d+|\$))?p$/.test(script)) return script ?? ''
  return files.find((file) => file.startsWith('-') && file !== '-')
}

const secondOperand: Check = (args) => args.filter((arg) => !arg.startsWith('-'))[1]

/** What follows `--` is for the script that the rule allows. */
const beforeSeparator =
  (check: Check): Check =>
  (args) =>
    check(args.includes('--') ? args.slice(0, args.indexOf('--')) : args)

const PACKAGE_RUNNER = {
  check: beforeSeparator(
    option(
      'C',
      'script-shell',
      'node-options',
      'prefix',
      'cwd',
      'dir',
      'userconfig',
      'globalconfig',
      'shell',
      'editor',
      'viewer',
      'git',
      'init-module',
      'onload-script',
    ),
  ),
  does: 'chooses another folder, shell or program for it',
}

const CHECKS: Record<string, { check: Check; does: string }> = {
  find: {
    check: words('-exec', '-execdir', '-ok', '-okdir', '-delete', '-fprint', '-fprintf', '-fprint0', '-fls'),
    does: 'runs programs, deletes or writes files',
  },
  sed: { check: sedScript, does: 'may run programs or write files' },
  sort: { check: option('oT', 'output', 'compress-program', 'files0-from'), does: 'runs a program or writes a file' },
  uniq: { check: secondOperand, does: 'is a file that gets written' },
  rg: { check: option('z', 'pre', 'hostname-bin', 'search-zip'), does: 'runs programs' },
  tar: {
    check: option(
      'IF',
      'checkpoint-action',
      'to-command',
      'use-compress-program',
      'rmt-command',
      'rsh-command',
      'info-script',
    ),
    does: 'runs programs',
  },
  npm: PACKAGE_RUNNER,
  pnpm: PACKAGE_RUNNER,
  yarn: PACKAGE_RUNNER,
  less: { check: (args) => args.find((arg) => /^\+|^-[^-]*[oOk]/.test(arg)), does: 'runs commands or writes a file' },
  man: { check: option('PH', 'pager', 'html'), does: 'runs programs' },
  wc: { check: option('', 'files0-from'), does: 'reads its arguments from elsewhere' },
  kill: { check: always, does: 'can hit Gatehouse itself' },
  pkill: { check: always, does: 'can hit Gatehouse itself' },
  killall: { check: always, does: 'can hit Gatehouse itself' },
  fuser: { check: option('k', 'kill'), does: 'can hit Gatehouse itself' },
}

/** Why an allow rule does not reach this far: `--output=P writes …`; undefined when nothing is known against it. */
export function findRiskyArgument(argv: string[]): string | undefined {
  const name = programName(argv[0] ?? '')
  if (name === 'git') {
    const subcommand = argv[1] ?? ''
    const found = Object.hasOwn(GIT, subcommand) ? GIT[subcommand]!(argv.slice(2)) : undefined
    return found === undefined ? undefined : `${found} writes, deletes or runs more than git ${subcommand} alone`
  }
  const entry = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
  const found = entry?.check(argv.slice(1))
  return found === undefined ? undefined : `${found === '' ? name : found} ${entry!.does}`
}
