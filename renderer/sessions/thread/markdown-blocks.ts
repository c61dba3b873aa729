/**
 * The part of Markdown that models write, as plain values: what is not understood stays text. Nothing in it
 * can load anything: pictures become their words, and only https addresses are links.
 */
export type Inline =
  | { kind: 'text' | 'code' | 'strong' | 'emphasis'; text: string }
  | { kind: 'link'; text: string; url: string }
export type Block =
  | { kind: 'paragraph'; inlines: Inline[] }
  | { kind: 'heading'; level: number; inlines: Inline[] }
  | { kind: 'quote'; inlines: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'list'; isOrdered: boolean; items: Inline[][] }

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/
const HEADING = /^(#{1,6})\s+(.*)$/
const ITEM = /^\s*(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/

export function readBlocks(text: string): Block[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!
    const fence = FENCE.exec(line)
    const heading = HEADING.exec(line)
    if (line.trim() === '') at += 1
    else if (fence) {
      const end = lines.findIndex(
        (l, i) => i > at && l.trim().startsWith(fence[1]!) && l.trim().replace(/[`~]/g, '') === '',
      )
      const until = end === -1 ? lines.length : end
      blocks.push({ kind: 'code', language: fence[2] ?? '', text: lines.slice(at + 1, until).join('\n') })
      at = until + 1
    } else if (heading) {
      blocks.push({ kind: 'heading', level: heading[1]!.length, inlines: readInlines(heading[2]!) })
      at += 1
    } else if (ITEM.test(line)) at = readList(lines, at, blocks)
    else {
      const isQuote = line.startsWith('>')
      const start = at
      while (at < lines.length && isPlain(lines[at]!) && lines[at]!.startsWith('>') === isQuote) at += 1
      const words = lines.slice(start, at).map((l) => (isQuote ? l.replace(/^>\s?/, '') : l))
      blocks.push({ kind: isQuote ? 'quote' : 'paragraph', inlines: readInlines(words.join('\n')) })
    }
  }
  return blocks
}

const isPlain = (line: string): boolean =>
  line.trim() !== '' && !FENCE.test(line) && !HEADING.test(line) && !ITEM.test(line)

function readList(lines: readonly string[], start: number, blocks: Block[]): number {
  const isOrdered = ITEM.exec(lines[start]!)![2] !== undefined
  const items: string[] = []
  let at = start
  for (; at < lines.length; at++) {
    const found = ITEM.exec(lines[at]!)
    if (found && (found[2] !== undefined) === isOrdered) items.push(found[3]!)
    else if (!found && /^\s{2,}\S/.test(lines[at]!)) items[items.length - 1] += `\n${lines[at]!.trim()}`
    else break
  }
  blocks.push({ kind: 'list', isOrdered, items: items.map(readInlines) })
  return at
}

/** Bounded, so that openings without an end cost no more than text. */
const INLINE =
  /(`{1,8})([^`]{1,2000}?)\1(?!`)|!\[([^\]\n]{0,400})\]\([^)\s]{0,2000}\)|\[([^\]\n]{1,400})\]\((\S{1,2000}?)\)|\*\*([^*\n]{1,2000})\*\*|\*([^*\s][^*\n]{0,2000})\*/g

export function readInlines(text: string): Inline[] {
  const inlines: Inline[] = []
  let at = 0
  const plain = (until: number) => until > at && inlines.push({ kind: 'text', text: text.slice(at, until) })
  for (const match of text.matchAll(INLINE)) {
    plain(match.index)
    at = match.index + match[0].length
    const [whole, , code, picture, words, url, strong, emphasis] = match
    if (code !== undefined) inlines.push({ kind: 'code', text: code.length > 2 ? code.trim() : code })
    else if (picture !== undefined) inlines.push({ kind: 'text', text: `[picture: ${picture || 'without words'}]` })
    else if (words !== undefined) inlines.push(linkOf(words, url!, whole))
    else if (strong !== undefined) inlines.push({ kind: 'strong', text: strong })
    else inlines.push({ kind: 'emphasis', text: emphasis! })
  }
  plain(text.length)
  return inlines
}

/** The address stands beside the words: a link cannot lead elsewhere than it says. */
function linkOf(words: string, url: string, whole: string): Inline {
  if (!/^https:\/\/[^\s"<>]+$/.test(url)) return { kind: 'text', text: whole }
  return { kind: 'link', text: words === url ? url : `${words} (${url})`, url }
}
