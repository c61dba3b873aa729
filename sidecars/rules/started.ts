/** Words of a command as they are at run time; `undefined` where only running could tell. */
export type Words = readonly (string | undefined)[]

/** What a command line starts beside, or instead of, its own program. */
export interface Started {
  /** Started with exactly these words, more may follow. */
  programs: Words[]
  /** Read as shell text. */
  texts: string[]
  /**
   * What may end up as a command, as shell text or as words. It is looked at only for what a rule denies
   * or asks about: it can make a verdict stricter, and never allows anything.
   */
  hints: (string | Words)[]
  /** Why rules for what is started are not enough to allow the whole, one clause each. */
  notes: string[]
  /** The words as which rules know its own program, when they are not those written. */
  ownWords?: Words
  /** What it starts is all that it does, so its own program needs no rule that allows it. */
  isTransparent: boolean
}

export function started(parts: Partial<Started>): Started {
  return { programs: [], texts: [], hints: [], notes: [], isTransparent: true, ...parts }
}

/** More than this are never looked at: the rest of a line is then only asked about. */
const MOST_HINTS = 64
const MAY_BE_TEXT = /[\s;|&$`(<]/

/** From this many of the first words on, the rest of the line is also read as one text. */
const MOST_JOINED = 8

/**
 * Everything in the arguments of a launcher that could be the command it starts: the line from each word
 * on, as words and joined to a text, each word that could be shell text, and what follows an equals sign.
 */
export function anyCommandIn(args: Words): (string | Words)[] {
  const hints: (string | Words)[] = []
  args.slice(0, MOST_HINTS).forEach((word, i) => {
    if (word === undefined) return
    const rest = args.slice(i)
    hints.push(rest)
    if (i < MOST_JOINED && rest.length > 1 && rest.some((part) => part !== undefined && /['"\\]/.test(part)))
      hints.push(rest.filter((part) => part !== undefined).join(' '))
    const value = /^[^\s=]*=(.+)$/s.exec(word)?.[1]
    for (const text of [word, value])
      if (text !== undefined && (MAY_BE_TEXT.test(text) || text === value)) hints.push(text)
  })
  return hints
}
