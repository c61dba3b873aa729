/**
 * Finds characters that would be read wrongly: invisible ones, ones that change the direction of the
 * text around them, control characters, odd spaces, and letters that look like others. What a person
 * approves must not depend on noticing them.
 */
import { lookalikeOf } from './lookalike-characters.ts'

export type HiddenKind = 'control' | 'direction' | 'invisible' | 'space' | 'lookalike'

export interface HiddenMark {
  /** UTF-16 offsets into the text; `end` is exclusive. */
  start: number
  end: number
  kind: HiddenKind
  /** What the box says, e.g. `\u{202e}` or `\r`. */
  label: string
  /** For the tooltip and for screen readers, e.g. "U+202E right-to-left override". */
  name: string
}

export interface FindOptions {
  /** Line feed and tab are ordinary in a script block, and suspicious in a name. */
  allowLineBreaksAndTabs?: boolean
  /** Typographic quotes and dashes are ordinary in a title and suspicious in a command or host. */
  prose?: boolean
}

const ESCAPES = new Map([
  [0x00, '\\0'],
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x1b, '\\e'],
])

const NAMES = new Map([
  [0x00, 'null'],
  [0x07, 'bell'],
  [0x08, 'backspace'],
  [0x09, 'tab'],
  [0x0a, 'line feed'],
  [0x0d, 'carriage return'],
  [0x1b, 'escape'],
  [0x7f, 'delete'],
  [0x85, 'next line'],
  [0xa0, 'no-break space'],
  [0xad, 'soft hyphen'],
  [0x34f, 'combining grapheme joiner'],
  [0x61c, 'Arabic letter mark'],
  [0x3164, 'Hangul filler'],
  [0x200b, 'zero width space'],
  [0x200c, 'zero width non-joiner'],
  [0x200d, 'zero width joiner'],
  [0x200e, 'left-to-right mark'],
  [0x200f, 'right-to-left mark'],
  [0x2028, 'line separator'],
  [0x2029, 'paragraph separator'],
  [0x202a, 'left-to-right embedding'],
  [0x202b, 'right-to-left embedding'],
  [0x202c, 'pop directional formatting'],
  [0x202d, 'left-to-right override'],
  [0x202e, 'right-to-left override'],
  [0x202f, 'narrow no-break space'],
  [0x2060, 'word joiner'],
  [0x2066, 'left-to-right isolate'],
  [0x2067, 'right-to-left isolate'],
  [0x2068, 'first strong isolate'],
  [0x2069, 'pop directional isolate'],
  [0x2800, 'blank braille pattern'],
  [0x3000, 'ideographic space'],
  [0xfeff, 'zero width no-break space'],
])

const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const CONTROL = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u
// Default-ignorable covers zero-width characters, fillers, variation selectors and tags; Cf the rest
// of the format characters; Cn and Co have no agreed shape at all; U+2800 is a blank with a name.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cn}\p{Co}\u2800]/u
const ODD_SPACE = /[^\P{Zs} ]/u
/** Nothing outside printable ASCII: the usual case, decided at once. */
const PLAIN = /^[\x20-\x7e]*$/

/** Marks in order of position, never overlapping. Lone surrogates are marked too. */
export function findHiddenCharacters(text: string, options: FindOptions = {}): HiddenMark[] {
  if (PLAIN.test(text)) return []
  const marks: HiddenMark[] = []
  for (let start = 0; start < text.length;) {
    const codePoint = text.codePointAt(start) ?? 0
    const end = start + (codePoint > 0xffff ? 2 : 1)
    const kind = kindOf(codePoint, text.slice(start, end), options)
    if (kind) marks.push({ start, end, kind, label: labelOf(codePoint), name: nameOf(codePoint, kind) })
    start = end
  }
  return mergeByPosition(marks, findLookalikes(text, options))
}

function kindOf(codePoint: number, character: string, options: FindOptions): HiddenKind | null {
  if (codePoint >= 0x20 && codePoint <= 0x7e) return null
  if (options.allowLineBreaksAndTabs && (codePoint === 0x0a || codePoint === 0x09)) return null
  if (DIRECTION.test(character)) return 'direction'
  if (CONTROL.test(character)) return 'control'
  if (INVISIBLE.test(character)) return 'invisible'
  return ODD_SPACE.test(character) ? 'space' : null
}

function labelOf(codePoint: number): string {
  return ESCAPES.get(codePoint) ?? `\\u{${codePoint.toString(16)}}`
}

function nameOf(codePoint: number, kind: HiddenKind): string {
  const number = `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`
  const fallback = { control: 'control character', direction: 'direction control', invisible: 'invisible character' }
  const name = NAMES.get(codePoint) ?? (kind in fallback ? fallback[kind as keyof typeof fallback] : 'unusual space')
  return `${number} ${name}`
}

/** Words of letters, digits and the punctuation that holds a name together. */
const WORD = /[\p{L}\p{N}\p{M}_]+/gu
const ASCII_LETTER = /[A-Za-z]/

/**
 * A letter is a look-alike where it stands in a word with plain Latin letters, or where the whole
 * word could be read as Latin. Ordinary words of other scripts are left alone.
 */
function findLookalikes(text: string, options: FindOptions): HiddenMark[] {
  const marks: HiddenMark[] = []
  const covered = new Set<number>()
  for (const match of text.matchAll(WORD)) {
    const word = match[0]
    const letters = [...word]
    const foreign = letters.filter((letter) => letter > '\x7f')
    if (foreign.length === 0) continue
    const disguised = ASCII_LETTER.test(word) || foreign.every((letter) => lookalikeOf(letter) !== null)
    let start = match.index
    for (const letter of letters) {
      const twin = lookalikeOf(letter)
      if (twin && (disguised || twin.always)) {
        marks.push(lookalikeMark(start, letter, twin.of))
        covered.add(start)
      }
      start += letter.length
    }
  }
  let start = 0
  for (const character of text) {
    const twin = character > '\x7f' && !covered.has(start) ? lookalikeOf(character) : null
    if (twin?.always && !(options.prose && twin.typographic)) marks.push(lookalikeMark(start, character, twin.of))
    start += character.length
  }
  return marks.sort((a, b) => a.start - b.start)
}

function lookalikeMark(start: number, character: string, of: string): HiddenMark {
  const codePoint = character.codePointAt(0) ?? 0
  const number = codePoint.toString(16)
  return {
    start,
    end: start + character.length,
    kind: 'lookalike',
    label: `\\u{${number}}`,
    name: `U+${number.toUpperCase().padStart(4, '0')} looks like ${of}`,
  }
}

function mergeByPosition(first: HiddenMark[], second: HiddenMark[]): HiddenMark[] {
  if (second.length === 0) return first
  const taken = new Set(first.map((mark) => mark.start))
  return [...first, ...second.filter((mark) => !taken.has(mark.start))].sort((a, b) => a.start - b.start)
}
