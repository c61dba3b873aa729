/** A command as one line that could be pasted into bash, and the script inside `bash -c`. */

/** Words that bash takes as they are. A leading `~` or an `=` in the first word would not be. */
const SAFE_WORD = /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./~^-]*$/
const CONTROL = /[\p{Cc}]/u
/** Reserved words and builtin syntax that mean something else when they come first and unquoted. */
const RESERVED =
  /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|in|function|time|select|coproc|\{|\}|!|\[\[|\]\])$/

/** Quotes one argument so that bash reads back exactly it. Control characters become `$'…'` escapes. */
export function quoteArgument(argument: string): string {
  if (argument === '') return "''"
  if (CONTROL.test(argument.replaceAll('\n', '').replaceAll('\t', ''))) return `$'${escapeControls(argument)}'`
  if (SAFE_WORD.test(argument)) return argument
  return `'${argument.replaceAll("'", "'\\''")}'`
}

/** The whole argv as a bash line: pasted, it yields the same argv. */
export function quoteCommandLine(argv: readonly string[]): string {
  return argv
    .map((argument, index) => {
      if (index === 0 && (RESERVED.test(argument) || argument.includes('=')))
        return `'${argument.replaceAll("'", "'\\''")}'`
      return quoteArgument(argument)
    })
    .join(' ')
}

const NAMED_ESCAPES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\x1b': '\\e',
  "'": "\\'",
  '\\': '\\\\',
}

function escapeControls(argument: string): string {
  let out = ''
  for (const character of argument) {
    const codePoint = character.codePointAt(0) ?? 0
    // C1 controls are two bytes in UTF-8; bash's \u writes the code point.
    const numeric =
      codePoint < 0x80
        ? `\\x${codePoint.toString(16).padStart(2, '0')}`
        : `\\u${codePoint.toString(16).padStart(4, '0')}`
    out += NAMED_ESCAPES[character] ?? (CONTROL.test(character) ? numeric : character)
  }
  return out
}

export interface ShellCall {
  /** What comes before the script, e.g. `['/bin/bash', '-lc']`. */
  shell: string[]
  script: string
  /** `$0`, `$1`, … of the script. */
  parameters: string[]
}

const SHELL_NAME = /(?:^|\/)(?:ba|z|da|k|a|mk)?sh$/
/** Options of sh and bash that take the next word. */
const OPTION_WITH_WORD = /^(?:[-+][oO]|--rcfile|--init-file)$/

/** The script when argv runs one through `sh -c` and its like; null when it does not. */
export function shellCallOf(argv: readonly string[]): ShellCall | null {
  const [program] = argv
  if (program === undefined || !SHELL_NAME.test(program)) return null
  let takesScript = false
  for (let at = 1; at < argv.length; at++) {
    const word = argv[at] ?? ''
    if (word === '--' || word === '-') at += 1
    else if (OPTION_WITH_WORD.test(word)) {
      at += 1
      continue
    } else if (/^[-+]/.test(word)) {
      takesScript ||= /^-[A-Za-z]*c/.test(word)
      continue
    }
    const script = argv[at]
    if (!takesScript || script === undefined) return null
    return { shell: argv.slice(0, at), script, parameters: argv.slice(at + 1) }
  }
  return null
}
