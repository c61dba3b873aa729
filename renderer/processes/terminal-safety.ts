/**
 * Output must not act. A program may write what it likes to the screen; titles, clipboard writes,
 * current folders and links in it do nothing by themselves, and output that is shown again (a page
 * opened late) must not make the terminal answer questions a second time.
 */
import type { IDisposable, IFunctionIdentifier, Terminal } from '@xterm/xterm'

/** Titles, folders, clipboard, notifications, shell integration: swallowed whole. */
const INERT_OSC = [0, 1, 2, 6, 7, 9, 50, 52, 99, 133, 633, 777, 1337]

/** Sequences by which a program asks the terminal something and gets an answer on its input. */
const QUERIES: readonly IFunctionIdentifier[] = [
  { final: 'c' },
  { prefix: '>', final: 'c' },
  { prefix: '=', final: 'c' },
  { final: 'n' },
  { prefix: '?', final: 'n' },
  { prefix: '>', final: 'q' },
  { intermediates: '$', final: 'p' },
  { prefix: '?', intermediates: '$', final: 'p' },
  { prefix: '?', final: 'u' },
  { final: 't' },
]
const DCS_QUERIES: readonly IFunctionIdentifier[] = [
  { intermediates: '$', final: 'q' },
  { intermediates: '+', final: 'q' },
]
/** Colour reports: `OSC 4 ; n ; ?` and its like. */
const COLOUR_OSC = [4, 10, 11, 12]

/** `mayAnswer` is asked at the moment a question is read. */
export function makeOutputInert(terminal: Terminal, mayAnswer: () => boolean): IDisposable {
  const { parser } = terminal
  const swallowed = (): boolean => true
  const unlessAnswering = (): boolean => !mayAnswer()
  const handlers: IDisposable[] = [
    ...INERT_OSC.map((code) => parser.registerOscHandler(code, swallowed)),
    ...QUERIES.map((query) => parser.registerCsiHandler(query, unlessAnswering)),
    ...DCS_QUERIES.map((query) => parser.registerDcsHandler(query, unlessAnswering)),
    ...COLOUR_OSC.map((code) => parser.registerOscHandler(code, (text) => text.includes('?') && !mayAnswer())),
  ]
  return {
    dispose() {
      for (const handler of handlers) handler.dispose()
    },
  }
}

/** Only web addresses may be opened, and only after the owner has read them. */
export function openableUrl(text: string): URL | null {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return null
  }
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : null
}
