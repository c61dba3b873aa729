/**
 * Interpreters that get their program on the command line (`python3 -c`, `node -e`, `perl -e`, `awk`).
 * Their code is not followed. The texts in it are, where the code could start a program: one that a rule
 * denies stays denied however it is wrapped.
 */
import { programName } from './shell-wrapper.ts'
import { started, type Started, type Words } from './started.ts'

const INTERPRETER =
  /^(python|pypy|node|nodejs|deno|bun|ruby|perl|php|lua|luajit|Rscript|osascript|pwsh|powershell|tclsh|expect|guile|julia|groovy|jshell|fish|nu|xonsh|awk|gawk|mawk|nawk|sed|vim|vi|ex|emacs|make|gmake|jq)[\d.]*$/
/** Something in the code may start a program. */
const STARTS = /system|popen|exec|spawn|subprocess|run|call|check_output|qx|Command|shell|`|\||!|\be\b/
const LITERAL = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`|qx\{([^}]*)\}|qx\(([^)]*)\)/gs
/** Longer code is not read; it asks in any case. */
const LONGEST_CODE = 64 * 1024
const DEEPEST = 6
const MOST_LITERALS = 300
const LONGEST_ROW = 24

/** What code on the command line may start; undefined when the program is no interpreter or has no code there. */
export function readInlineCode(words: Words): Started | undefined {
  const [program, ...args] = words
  if (program === undefined || !INTERPRETER.test(programName(program))) return undefined
  const codes = args.filter((arg) => arg !== undefined)
  const hints = codes.flatMap((code) => commandsIn(code.slice(0, LONGEST_CODE), 0))
  const isCut = codes.some((code) => code.length > LONGEST_CODE) || hints.length >= MOST_LITERALS
  if (hints.length === 0 && !isCut) return undefined
  return started({ hints, notes: isCut ? ['it holds more code than is looked at'] : [], isTransparent: false })
}

function commandsIn(code: string, depth: number): (string | Words)[] {
  if (!STARTS.test(code)) return []
  const literals: { text: string; start: number; end: number }[] = []
  for (const match of code.matchAll(LITERAL)) {
    if (literals.length === MOST_LITERALS) break
    const raw = match.slice(1).find((group) => group !== undefined) ?? ''
    literals.push({ text: unescaped(raw), start: match.index, end: match.index + match[0].length })
  }
  const hints: (string | Words)[] = literals.map(({ text }) => text)
  // `["rm", "-rf", x]`: literals with nothing but a comma between them are the words of one command.
  literals.forEach((first, i) => {
    const row = [first.text]
    for (let at = i + 1; at < literals.length && row.length < LONGEST_ROW; at++) {
      if (!/^[\s,[\](]+$/.test(code.slice(literals[at - 1]!.end, literals[at]!.start))) break
      row.push(literals[at]!.text)
    }
    if (row.length > 1) hints.push(row)
  })
  // What `vim -c '!text'`, `sed '1e text'` and `awk '…|"text"'` run stands bare in the code.
  const bare = /(?:^|[\s\d/])(?:!|e\s)\s*(.+)$/s.exec(code)?.[1]
  if (bare !== undefined) hints.push(bare)
  if (depth < DEEPEST) for (const { text } of literals) if (text !== code) hints.push(...commandsIn(text, depth + 1))
  return hints
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', '\n': '' }
function unescaped(text: string): string {
  return text.replaceAll(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[0-7]{3}|.)/gs, (_, code: string) => {
    if (/^[xu]./.test(code)) return String.fromCodePoint(parseInt(code.slice(1), 16))
    if (/^[0-7]{3}$/.test(code)) return String.fromCodePoint(parseInt(code, 8))
    return ESCAPES[code] ?? code
  })
}
