/** Programs that only start another one: `nohup npm test` is judged as `npm test`. */
import { isCommandVariable, isHarmlessVariable } from './harmless-environment.ts'
import { programName } from './shell-wrapper.ts'
import { anyCommandIn, started, type Started, type Words } from './started.ts'

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
}

const OTHER_RIGHTS = 'it is started with other rights'
const WRAPPERS: Record<string, Options> = {
  nohup: {},
  nice: { flags: /^-\d+$|^--adjustment=-?\d+$|^-n-?\d+$/, withValue: /^-n$|^--adjustment$/ },
  ionice: { flags: /^-[ct]\d*$|^-n\d+$/, withValue: /^-[cn]$/ },
  timeout: {
    flags: /^--(foreground|preserve-status|verbose|kill-after=\S+|signal=\w+)$|^-v$|^-k[\d.]+[smhd]?$|^-s\w+$/,
    withValue: /^-[ks]$|^--(kill-after|signal)$/,
    operands: 1,
  },
  stdbuf: { flags: /^-[ioe][\dL][\dKMG]*$|^--(input|output|error)=[\dL][\dKMG]*$/, withValue: /^-[ioe]$/ },
  time: { flags: /^-p$/, assignments: true },
  command: { flags: /^-p$/ },
  setsid: { flags: /^-[cfw]+$|^--(ctty|fork|wait)$/ },
  env: {
    flags: /^-i?$|^--ignore-environment$|^-u\S+$|^--unset=\S+$/,
    withValue: /^-u$|^--unset$/,
    assignments: true,
  },
  sudo: { flags: /^-[nEHSbk]+$/, withValue: /^-[ugpCDRT]$/, assignments: true, note: OTHER_RIGHTS },
  doas: { flags: /^-n$/, withValue: /^-[uC]$/, note: OTHER_RIGHTS },
  exec: { flags: /^-[cl]+$/, withValue: /^-a$/, note: 'it takes the place of the shell' },
  builtin: {},
  coproc: { assignments: true, note: 'it is started in the background' },
  busybox: { note: 'a program of many names is told which one to be' },
  toybox: { note: 'a program of many names is told which one to be' },
  xargs: {
    flags: /^-[0rtpx]+$|^-[nPLs]\d+$|^-[Iad]\S+$|^--(null|no-run-if-empty|max-args=\d+|max-procs=\d+)$/,
    withValue: /^-[nPLsIadE]$/,
    note: 'it gets more arguments from its input',
  },
}
/** Words of the shell that the grammar takes for programs in some places, as in `! { …; }`. */
for (const word of [
  '{',
  '}',
  '!',
  'if',
  'then',
  'elif',
  'else',
  'while',
  'until',
  'do',
  'always',
  'noglob',
  'nocorrect',
])
  WRAPPERS[word] = { assignments: true, note: `"${word}" is a word of the shell, and what it does here is unclear` }
const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s

/** `env -S TEXT` and its spellings: the words are in the text. */
const SPLIT_STRING = /^(?:-[iv0]*S|--split-string=?)(.*)$/s

/** What a command line starts through its program; undefined when the program is not one that only starts others. */
export function readCommandWrapper(words: Words): Started | undefined {
  const [program] = words
  if (program === undefined) return undefined
  const name = programName(program)
  if (name === 'eval') return readText(name, words.slice(1))
  const options = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined
  return options && skipOptions(name, words, options)
}

function readText(name: string, words: Words): Started {
  const known = words.filter((word) => word !== undefined)
  const text = known.join(' ')
  return known.length < words.length
    ? started({ hints: [text, ...anyCommandIn(words)], notes: [`the text for ${name} is only known when it runs`] })
    : started({ texts: [text] })
}

function skipOptions(name: string, words: Words, options: Options): Started {
  const notes = options.note === undefined ? [] : [options.note]
  const hints: string[] = []
  const unclear = (why: string, at: number): Started =>
    started({ hints: [...hints, ...anyCommandIn(words.slice(at))], notes: [...notes, `${name}: ${why}`] })
  let operands = options.operands ?? 0
  for (let at = 1; at < words.length; at++) {
    const word = words[at]
    if (word === undefined) return unclear('an argument is only known when it runs', at)
    if (word === '--') continue
    const split = name === 'env' ? SPLIT_STRING.exec(word) : null
    if (split) return readSplitString(split[1]!, words.slice(at + 1))
    const [, variable, value] = (options.assignments && ASSIGNMENT.exec(word)) || []
    if (variable !== undefined) {
      if (isCommandVariable(variable)) hints.push(value!)
      if (!isHarmlessVariable(variable, value!)) notes.push(`it is started with another ${variable}`)
    } else if (options.withValue?.test(word)) {
      if (name === 'env') notes.push('it is started without a variable')
      at += 1
    } else if (options.flags?.test(word)) {
      if (name === 'env') notes.push('it is started with a changed environment')
    } else if (word.startsWith('-')) return unclear(`the option ${word} is not followed`, at + 1)
    else if (operands > 0) operands -= 1
    else return started({ programs: [words.slice(at)], hints, notes })
  }
  return unclear('it starts no program that can be seen', 1)
}

function readSplitString(attached: string, rest: Words): Started {
  const { texts, hints, notes } = readText('env', attached === '' ? rest : [attached, ...rest])
  return started({ texts, hints, notes: [...notes, 'env splits the text in its own way'] })
}
