import { backquotedIn } from './backquotes.ts'
import type { Effort } from './effort.ts'
import { findHiddenCharacter } from './hidden-characters.ts'
import type { ReadText } from './read-text.ts'
import type { ShellGrammar } from './shell-grammar.ts'
import { ShellWalk } from './shell-walk.ts'

/** Longer texts are not read: nobody writes them by hand, and time is bounded this way. */
const LONGEST_TEXT = 256 * 1024
const SHOWN_UNCLEAR = 8
const MOST_PIECES = 100
/** Words in front of a command that are no program but part of the syntax. */
const PREFIXES = /(^|[\s;&|(){}`])((?:(?:!|time(?:\s+-p)?|coproc(?:\s+\w+(?=\s+[{(]))?)\s+)+)/g
/** What such a word stands in front of when it is one. */
const COMPOUND = /[{(]|\[\[|(?:if|while|until|for|case|select|function)\s|\w+\s*\(\)/y
/** Two parentheses that a shell may take for one in another; those of a `for` it does not. */
const TWO_PARENTHESES = /\((?<!\bfor\s*\()(?=\()/g
/** `$'…'` with a quote in it: a shell that does not know it reads a dollar sign and what single quotes hold. */
const QUOTE_IN_ANSI = /\$'(?:[^'\\]|\\[^'])*\\'/
/** Behind anything else "#" is a part of a word; the grammar begins a comment there, too. */
const BEFORE_COMMENT = /^$|(^|[^\\])[\s;&|(]$/
/** A dollar sign that is only itself. */
const BARE_DOLLAR = /(?<!\\)\$(?=\s)/g

/**
 * The commands of a shell text (sh, bash, zsh). Followed are commands joined by `&&`, `||`, `;`, `|` and line ends,
 * groups, subshells, negation, conditions, loops over words, functions, variables with known values, comments, quoted
 * here-documents and output thrown away; everything else is named in `unclear`, and commands inside it are still
 * listed.
 */
export function readShellText(text: string, grammar: ShellGrammar, effort: Effort): ReadText {
  if (text.length > LONGEST_TEXT) return { ...nothing(), unclear: [`it is longer than ${LONGEST_TEXT} characters`] }
  const readings = readingsOf(text).map((reading) => readOnce(reading, grammar, effort))
  const all = <T>(part: (read: ReadText) => readonly T[]): T[] => readings.flatMap(part)
  return {
    commands: all(({ commands }) => commands),
    unclear: [...new Set(all(({ unclear }) => unclear))],
    writes: all(({ writes }) => writes),
    inputs: all(({ inputs }) => inputs),
    hints: [...all(({ hints }) => hints), ...otherHints(text)],
  }
}

/**
 * The text as the grammar reads it, and as a shell does where the two differ; all readings count. The grammar takes an
 * escaped line end for a blank, while a word goes on in the next line; what follows a dollar sign and a blank for its
 * variable; and in `! { …; }` and the like the brace for a program.
 */
function readingsOf(text: string): string[] {
  const readings = [text]
  // Between single quotes a backslash does not escape another one, elsewhere it does.
  if (text.includes('\\\n'))
    readings.push(
      text.replaceAll('\\\n', ''),
      text.replaceAll(/\\[^]/g, (pair) => (pair === '\\\n' ? '' : pair)),
    )
  readings.push(...readings.map((reading) => reading.replaceAll(BARE_DOLLAR, '\\$')))
  return [...new Set([...readings, ...readings.map(withoutPrefixes)])]
}

const withoutPrefixes = (text: string): string =>
  text.replaceAll(PREFIXES, (match: string, before: string, _words: string, at: number) => {
    COMPOUND.lastIndex = at + match.length
    return COMPOUND.test(text) ? `${before} ` : match
  })

/**
 * Readings that count only for what a rule denies or asks about, since the text asks in any case. `((…))` is arithmetic
 * in the grammar; for a shell it is a subshell in a subshell when it does not end with `))`, or when the shell does not
 * know that arithmetic at all.
 */
function otherHints(text: string): string[] {
  const split = text.replaceAll(TWO_PARENTHESES, '( ')
  const unknowing = QUOTE_IN_ANSI.test(text) ? text.replaceAll("$'", "\\$'") : text
  return [split, unknowing].filter((other) => other !== text)
}

const nothing = (): ReadText => ({ commands: [], unclear: [], writes: [], inputs: [], hints: [] })

function readOnce(text: string, grammar: ShellGrammar, effort: Effort): ReadText {
  const read = nothing()
  const note = (what: string) => {
    if (read.unclear.length < SHOWN_UNCLEAR && !read.unclear.includes(what)) read.unclear.push(what)
  }
  const hidden = findHiddenCharacter(text)
  if (hidden !== undefined) note(`it holds the hidden character ${hidden}`)
  const followed = grammar.withTree(text, effort, (root) => {
    if (root.hasError) {
      note('it is not complete shell text')
      read.hints.push(...piecesOf(text), ...backquotedIn(text))
    }
    for (const comment of root.descendantsOfType('comment'))
      if (comment && !BEFORE_COMMENT.test(text.slice(Math.max(0, comment.startIndex - 2), comment.startIndex))) {
        note('it holds a "#" in a word')
        read.hints.push(...piecesOf(`;${comment.text}`))
      }
    new ShellWalk(text, read, note, effort).from(root)
    return true
  })
  // What the grammar takes for the end of a here-document may not be it.
  if (read.unclear.length > 0 && text.includes('<<')) read.hints.push(...piecesOf(text))
  if (!followed) note('it takes too much to read')
  return read
}

/** Pieces between everything that could separate commands. A text that is a piece itself has none. */
function piecesOf(text: string): string[] {
  const pieces = text.split(/[;&|\n(){}`]+/, MOST_PIECES).map((piece) => piece.trim())
  return pieces.length < 2 ? [] : [...new Set(pieces)].filter((piece) => piece !== '')
}
