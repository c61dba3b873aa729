/** Programs that only start another one: `nohup npm test` is judged as `npm test`. */
import { programName } from './shell-wrapper.ts'

type Words = readonly (string | undefined)[]

export type CommandWrapper =
  /** `appended`: the program gets more arguments than are written. `note`: why it cannot be allowed as it is. */
  | { kind: 'program'; words: Words; note?: string }
  /** Its arguments are shell text. */
  | { kind: 'text'; text: string }
  /** It starts something that we do not follow. */
  | { kind: 'unclear'; why: string }

interface Options {
  /** Flags without a value. */
  flags?: RegExp
  /** Options whose value is the next word. */
  withValue?: RegExp
  /** Words to pass over before the program (a duration). */
  operands?: number
  /** What makes it impossible to allow the inner command by its own rule. */
  note?: string
  /** Variables may be set in front of the program. */
  assignments?: boolean
  /** Options whose value is itself a command line. */
  text?: RegExp
}

const WRAPPERS: Record<string, Options> = {
  nohup: {},
  nice: { flags: /^-\d+$|^--adjustment=-?\d+$|^-n-?\d+$/, withValue: /^-n$/ },
  timeout: {
    flags: /^--(foreground|preserve-status|verbose|kill-after=\S+|signal=\w+)$|^-v$|^-k[\d.]+[smhd]?$|^-s\w+$/,
    withValue: /^-[ks]$/,
    operands: 1,
  },
  stdbuf: { flags: /^-[ioe][\dL][\dKMG]*$/, withValue: /^-[ioe]$/ },
  time: { flags: /^-p$/ },
  command: { flags: /^-p$/ },
  setsid: { flags: /^-[cfw]+$|^--(ctty|fork|wait)$/ },
  env: {
    flags: /^-i?$|^--ignore-environment$|^-u\S+$|^--unset=\S+$/,
    withValue: /^-u$/,
    assignments: true,
    text: /^-S$|^--split-string$/,
    note: 'it is started with a changed environment',
  },
  sudo: { flags: /^-[nEHSbk]+$/, withValue: /^-[ugp]$/, note: 'it is started with other rights' },
  doas: { flags: /^-[n]$/, withValue: /^-u$/, note: 'it is started with other rights' },
  exec: { flags: /^-[cl]+$/, withValue: /^-a$/, note: 'it takes the place of the shell' },
  builtin: {},
  xargs: {
    flags: /^-[0rtpx]+$|^-[nPLs]\d+$|^-[Iad]\S+$|^--(null|no-run-if-empty|max-args=\d+|max-procs=\d+)$/,
    withValue: /^-[nPLsIad]$/,
    note: 'it gets more arguments from its input',
  },
}
const ASSIGNMENT = /^[A-Za-z_]\w*=/
const TEXT_RUNNERS = new Set(['eval'])
/** Start something else in ways that are not followed here, or make later words mean something else. */
const UNFOLLOWED = new Set(
  'busybox toybox script watch parallel ssh strace ltrace gdb unshare chroot flock su runuser setpriv nsenter ionice taskset chrt entr source . alias unalias trap enable hash shopt set export declare typeset local readonly unset'.split(
    ' ',
  ),
)

/** What a command line starts through its program; undefined when the program is not known to start another. */
export function readCommandWrapper(words: Words): CommandWrapper | undefined {
  const [program] = words
  if (program === undefined) return undefined
  const name = programName(program)
  if (UNFOLLOWED.has(name)) return { kind: 'unclear', why: `${name} can start or change what cannot be seen here` }
  if (TEXT_RUNNERS.has(name)) return readText(name, words.slice(1))
  const options = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined
  return options ? skipOptions(name, words, options) : undefined
}

function readText(name: string, words: Words): CommandWrapper {
  const known = words.filter((word) => word !== undefined)
  if (known.length < words.length) return { kind: 'unclear', why: `the text for ${name} is only known when it runs` }
  return { kind: 'text', text: known.join(' ') }
}

function skipOptions(name: string, words: Words, options: Options): CommandWrapper {
  const unclear = (why: string): CommandWrapper => ({ kind: 'unclear', why: `${name}: ${why}` })
  let operands = options.operands ?? 0
  for (let at = 1; at < words.length; at++) {
    const word = words[at]
    if (word === undefined) return unclear('an argument is only known when it runs')
    if (word === '--') continue
    if (options.text?.test(word)) return readText(name, words.slice(at + 1))
    if (options.withValue?.test(word)) at += 1
    else if (options.flags?.test(word) || (options.assignments && ASSIGNMENT.test(word))) continue
    else if (word.startsWith('-')) return unclear(`the option ${word} is not followed`)
    else if (operands > 0) operands -= 1
    else {
      const inner = { kind: 'program' as const, words: words.slice(at) }
      return options.note === undefined ? inner : { ...inner, note: options.note }
    }
  }
  return unclear('it starts no program that can be seen')
}
