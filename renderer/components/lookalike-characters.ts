/**
 * Characters that are easily taken for printable ASCII. A selection from Unicode's confusables
 * (UTS 39) limited to what can stand in a command, a path or a host name.
 */
export interface Lookalike {
  /** The ASCII character it is taken for. */
  of: string
  /** Suspicious wherever it stands, not only inside a Latin word. */
  always: boolean
  /** Quotes, dashes and the like that are ordinary in prose. */
  typographic: boolean
}

/** Pairs of "foreign letter, ASCII twin". */
const LETTERS =
  // Cyrillic
  'аa еe оo рp сc уy хx ѕs іi јj ԁd ԛq ԝw һh ӏl ьb вB кk мM нH тT гr пn ґr ѵv ' +
  'АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ЅS ІI ЈJ Ԁd ԚQ ԜW ҺH ӀI ҮY ' +
  // Greek
  'αa βB γy εe ηn ιi κk νv οo ρp σo τt υu χx ωw ϳj ' +
  'ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ' +
  // Armenian, Cherokee, Latin letters outside ASCII
  'օo սu հh ոn ցg քp ԁd աw Ꭰd Ꮃw Ꮪs Ꭺa Ꮯc Ꭼe ɡg ɑa ıi ȷj ʟL ɩi ƽs'

/** Punctuation, and whole ranges below, that no one writes into a command by hand. */
const PUNCTUATION =
  '\u2215/ \u2044/ \u29f8/ \u29f5\\ \u2216\\ \u2010- \u2011- \u2012- \u2013- \u2014- \u2212- \ufe63- \u02d7- \u2043- ' +
  "\u2018' \u2019' \u201b' \u02bc' \u2032' \u201c\" \u201d\" \u2033\" \u02cb` \u1fef` " +
  '\u037e; \uff1b; \ua789: \u2236: \u02d0: \u05c3: \u2024. \ua4f8. \u3002. \uff61. \u201a, ' +
  '\u01c0| \u2223| \u2502| \u23d0| \u2039< \u203a> \u02c2< \u02c3> \u2217* \u204e* \u223c~ \u02dc~ \u01c3! \u02c6^ \u0241?'

const TYPOGRAPHIC = /[\u2010-\u2014\u2212\u2018\u2019\u201a-\u201d\u2032\u2033]/u

function pairs(text: string): [string, string][] {
  return text.split(' ').map((pair) => {
    const [foreign = '', ...twin] = pair
    return [foreign, twin.join('')]
  })
}

const byLetter = new Map(pairs(LETTERS))
const byPunctuation = new Map(pairs(PUNCTUATION))

/** The ASCII character that `character` may be taken for; null when there is none or it is ASCII itself. */
export function lookalikeOf(character: string): Lookalike | null {
  const codePoint = character.codePointAt(0) ?? 0
  if (codePoint < 0x80) return null
  const letter = byLetter.get(character)
  if (letter) return { of: letter, always: false, typographic: false }
  const punctuation = byPunctuation.get(character)
  if (punctuation) return { of: punctuation, always: true, typographic: TYPOGRAPHIC.test(character) }
  const isStyled = (codePoint >= 0xff01 && codePoint <= 0xff5e) || (codePoint >= 0x1d400 && codePoint <= 0x1d7ff)
  const folded = isStyled ? character.normalize('NFKC') : ''
  return /^[\x21-\x7e]$/.test(folded) ? { of: folded, always: true, typographic: false } : null
}
