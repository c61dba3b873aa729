import { shellQuote } from '../audit/shell-quote.ts'
import { shorten } from '../audit/subject-line.ts'

const SHELL = /(?:^|\/)(?:ba|z|da|k|a|fi)?sh$/

/**
 * What a session does, in a line for people: the first line of a script that a shell is given says it, not the
 * shell around it. For lists and titles only; whatever is decided on shows the whole command.
 */
export function activityLine(argv: readonly string[]): string {
  const [program = '', option = '', script] = argv
  if (!SHELL.test(program) || !/^-[a-z]*c$/.test(option) || script === undefined) return shorten(shellQuote(argv))
  const lines = script.split('\n').map((line) => line.trim())
  const said = lines.find((line) => line !== '' && !line.startsWith('#') && !/^set [-+]/.test(line))
  return shorten(said ?? lines.find((line) => line !== '') ?? shellQuote(argv))
}
