/**
 * `git` with its global options. Rules name what git is told to do (`git status`), so the options in
 * front of it are set aside; those that make it run or write something else are named. Source: git(1).
 */
import { programName } from './shell-wrapper.ts'
import { anyCommandIn, started, type Started, type Words } from './started.ts'

/** Change how git talks, not what it does. */
const HARMLESS =
  /^--(no-pager|no-optional-locks|no-replace-objects|no-lazy-fetch|no-advice|literal-pathspecs|glob-pathspecs|noglob-pathspecs|icase-pathspecs)$|^-P$/
/** Name another repository: what git is told to do is the same, its configuration is not. */
const ELSEWHERE = /^(-C|--git-dir|--work-tree|--namespace|--super-prefix)$/
const CONFIGURES = /^(-c|--config-env)$/
const PAGES = /^(-p|--paginate)$/

/** Subcommands that start a program: the words behind these, or a text in one of their options. */
const STARTS: Record<string, (args: Words) => Partial<Started>> = {
  bisect: (args) => (args[0] === 'run' ? { programs: [args.slice(1)] } : {}),
  submodule: (args) => (args[0] === 'foreach' ? { hints: anyCommandIn(args.slice(1)) } : {}),
  rebase: (args) => ({ hints: valuesOf(args, /^(-\w*x|--exec)$/) }),
  difftool: (args) => ({ hints: valuesOf(args, /^(-x|--extcmd)$/) }),
  'filter-branch': (args) => ({ hints: anyCommandIn(args) }),
  'for-each-repo': (args) => ({ hints: anyCommandIn(args) }),
}

/** Undefined when it is not git, or git without anything that needs a second look. */
export function readGitCommand(words: Words): Started | undefined {
  const [program] = words
  if (program === undefined || programName(program) !== 'git') return undefined
  const hints: (string | Words)[] = []
  const notes: string[] = []
  let at = 1
  for (; at < words.length; at++) {
    const word = words[at]
    if (word === undefined)
      return { ...started({}), notes: ['an option is only known when it runs'], isTransparent: false }
    if (!word.startsWith('-')) break
    const [name = '', attached] = splitOption(word)
    const takesNext = attached === undefined && (ELSEWHERE.test(name) || CONFIGURES.test(name))
    const value = takesNext ? words[++at] : attached
    if (HARMLESS.test(word)) continue
    if (name === '-C' && (value === '.' || value === './')) continue
    if (ELSEWHERE.test(name)) notes.push('it works on another repository, whose settings may start programs')
    else if (PAGES.test(word)) notes.push('it shows its output through another program')
    else {
      notes.push(`the option ${name} can start or change what cannot be seen here`)
      hints.push(...configuredCommands(value))
    }
  }
  const rest = words.slice(at)
  const subcommand = rest[0]
  const start = subcommand !== undefined && Object.hasOwn(STARTS, subcommand) ? STARTS[subcommand]!(rest.slice(1)) : {}
  const startsOther = (start.programs ?? start.hints ?? []).length > 0
  if (at === 1 && !startsOther) return undefined
  if (startsOther) notes.push(`git ${subcommand} starts other programs`)
  return started({
    programs: start.programs ?? [],
    hints: [...hints, ...(start.hints ?? [])],
    notes: [...new Set(notes)],
    ownWords: [program, ...rest],
    isTransparent: false,
  })
}

function splitOption(word: string): [string, string?] {
  const equals = word.startsWith('--') ? word.indexOf('=') : -1
  if (equals > 0) return [word.slice(0, equals), word.slice(equals + 1)]
  // `-c` and `-C` may have their value attached.
  return /^-[cC]./.test(word) ? [word.slice(0, 2), word.slice(2)] : [word]
}

/** `alias.x=!text`, `core.pager=text` and the like: what git may run because of a setting. */
function configuredCommands(setting: string | undefined): string[] {
  const value = setting === undefined ? undefined : /^[^=]*=(.*)$/s.exec(setting)?.[1]
  return value === undefined ? [] : [value.replace(/^!/, '')]
}

function valuesOf(args: Words, option: RegExp): string[] {
  return args.flatMap((arg, i) => {
    if (arg === undefined) return []
    if (option.test(arg)) return args[i + 1] === undefined ? [] : [args[i + 1]!]
    const attached = /^(--[a-z-]+)=(.*)$/s.exec(arg) ?? /^(-x)(.+)$/s.exec(arg)
    return attached && option.test(attached[1]!) ? [attached[2]!] : []
  })
}
