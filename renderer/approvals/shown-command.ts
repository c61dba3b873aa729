/** A command prepared for drawing: its text, the parts of it, what hides in it, line by line. */
import { findHiddenCharacters, type HiddenMark } from '../components/hidden-characters.ts'
import { quoteArgument, quoteCommandLine, shellCallOf } from './command-line.ts'
import { noteCommands, type CommandNote } from './command-notes.ts'
import { readQuotedLine, readShellText, type ShellPart } from './shell-parts.ts'

export interface ShownLine {
  start: number
  end: number
  parts: ShellPart[]
}

export interface ShownCommand {
  /** Exactly what is drawn and copied. */
  text: string
  lines: ShownLine[]
  marks: HiddenMark[]
  notes: CommandNote[]
  /** `bash -lc` when the text is a script for a shell. */
  through: string | null
  /** The script's own parameters (`$0`, `$1`, …), quoted. */
  parameters: string | null
}

export function showCommand(argv: readonly string[]): ShownCommand {
  const call = shellCallOf(argv)
  if (call) {
    const reading = readShellText(call.script)
    return {
      text: call.script,
      lines: cutIntoLines(call.script, reading.parts),
      marks: findHiddenCharacters(call.script, { allowLineBreaksAndTabs: true }),
      notes: noteCommands(reading.commands),
      through: quoteCommandLine(call.shell),
      parameters: call.parameters.length > 0 ? call.parameters.map(quoteArgument).join(' ') : null,
    }
  }
  const text = quoteCommandLine(argv)
  const programLength = quoteCommandLine(argv.slice(0, 1)).length
  return {
    text,
    lines: cutIntoLines(text, readQuotedLine(text, programLength)),
    marks: findHiddenCharacters(text, { allowLineBreaksAndTabs: true }),
    notes: noteCommands([{ words: argv.map(quoteArgument), piped: false }]),
    through: null,
    parameters: null,
  }
}

/** Parts may span line breaks; each line gets its share of them. */
export function cutIntoLines(text: string, parts: readonly ShellPart[]): ShownLine[] {
  const lines: ShownLine[] = []
  let part = 0
  for (let start = 0; start <= text.length;) {
    const lineBreak = text.indexOf('\n', start)
    const end = lineBreak < 0 ? text.length : lineBreak
    const line: ShownLine = { start, end, parts: [] }
    while (part < parts.length) {
      const current = parts[part]
      if (!current || current.start >= end) break
      if (current.end > start)
        line.parts.push({ kind: current.kind, start: Math.max(current.start, start), end: Math.min(current.end, end) })
      if (current.end > end) break
      part += 1
    }
    lines.push(line)
    while (part < parts.length && (parts[part]?.end ?? 0) <= end + 1) part += 1
    start = end + 1
  }
  return lines
}
