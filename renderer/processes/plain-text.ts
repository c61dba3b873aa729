/** One line of terminal output as the text it leaves on the screen, without colours and cursor games. */

/**
 * ECMA-48: OSC and DCS strings with their terminator, CSI sequences, two-byte escapes. An unfinished
 * sequence runs to the end of the line.
 */
const ESCAPES =
  /\x1b(?:[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|\[[0-?]*[ -/]*(?:[@-~]|$)|[ -/]*(?:[0-~]|$))|\x9b[0-?]*[ -/]*(?:[@-~]|$)/g
const REWRITES = /[\r\b]/
const OTHER_CONTROLS = /[\x00-\x07\x0b-\x1a\x1c-\x1f\x7f\x80-\x9f]/g

/**
 * Carriage returns and backspaces overwrite as a terminal would: `abcd\rabX` leaves `abXd`. Tabs stay.
 */
export function plainText(line: string): string {
  const text = line.includes('\x1b') || line.includes('\x9b') ? line.replaceAll(ESCAPES, '') : line
  const settled = REWRITES.test(text.endsWith('\r') ? text.slice(0, -1) : text) ? overwrite(text) : text
  return settled.replaceAll(OTHER_CONTROLS, '')
}

function overwrite(text: string): string {
  const cells: string[] = []
  let at = 0
  for (const character of text) {
    if (character === '\r') at = 0
    else if (character === '\b') at = Math.max(0, at - 1)
    else cells[at++] = character
  }
  return cells.join('')
}
