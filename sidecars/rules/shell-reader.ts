import { findHiddenCharacter } from './hidden-characters.ts'
import type { ReadText } from './read-text.ts'
import type { ShellGrammar } from './shell-grammar.ts'
import { ShellWalk } from './shell-walk.ts'

/** Longer texts are not read: nobody writes them by hand, and time is bounded this way. */
const LONGEST_TEXT = 256 * 1024
const SHOWN_UNCLEAR = 8
const MOST_PIECES = 100
const NEGATED_GROUP = /(^|[\s;&|(){}])!(?=\s+\{\s)/
const NEGATED_GROUPS = new RegExp(NEGATED_GROUP, 'g')

/**
 * The commands of a shell text (sh, bash, zsh). Followed are commands joined by `&&`, `||`, `;`, `|` and line ends,
 * groups, subshells, negation, conditions, loops over words, functions, variables with known values, comments, quoted
 * here-documents and output thrown away; everything else is named in `unclear`, and commands inside it are still
 * listed.
 */
export function readShellText(text: string, grammar: ShellGrammar): ReadText {
  if (text.length > LONGEST_TEXT) return { ...nothing(), unclear: [`it is longer than ${LONGEST_TEXT} characters`] }
  const readings = [...new Set([text, ...otherReadings(text)])].map((reading) => readOnce(reading, grammar))
  const all = <T>(part: (read: ReadText) => readonly T[]): T[] => readings.flatMap(part)
  return {
    commands: all(({ commands }) => commands),
    unclear: [...new Set(all(({ unclear }) => unclear))],
    writes: all(({ writes }) => writes),
    inputs: all(({ inputs }) => inputs),
    hints: all(({ hints }) => hints),
  }
}

/**
 * Where the grammar reads otherwise than a shell, the text as the shell takes it; both readings count. It takes an
 * escaped line end for a blank, while a word goes on in the next line; and in `! { …; }` the brace for a program.
 */
function otherReadings(text: string): string[] {
  const readings: string[] = []
  if (text.includes('\\\n')) readings.push(text.replaceAll('\\\n', ''))
  if (NEGATED_GROUP.test(text)) readings.push(text.replaceAll(NEGATED_GROUPS, '$1 '))
  return readings
}

const nothing = (): ReadText => ({ commands: [], unclear: [], writes: [], inputs: [], hints: [] })

function readOnce(text: string, grammar: ShellGrammar): ReadText {
  const read = nothing()
  const note = (what: string) => {
    if (read.unclear.length < SHOWN_UNCLEAR && !read.unclear.includes(what)) read.unclear.push(what)
  }
  const hidden = findHiddenCharacter(text)
  if (hidden !== undefined) note(`it holds the hidden character ${hidden}`)
  const followed = grammar.withTree(text, (root) => {
    if (root.hasError) {
      note('it is not complete shell text')
      read.hints.push(...piecesOf(text))
    }
    new ShellWalk(read, note).from(root)
    return true
  })
  if (!followed) note('it takes too long to read')
  return read
}

/** Pieces between everything that could separate commands. A text that is a piece itself has none. */
function piecesOf(text: string): string[] {
  const pieces = text.split(/[;&|\n(){}`]+/, MOST_PIECES).map((piece) => piece.trim())
  return pieces.length < 2 ? [] : [...new Set(pieces)].filter((piece) => piece !== '')
}
