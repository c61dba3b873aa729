import { readInlineCode } from './inline-code.ts'
import { programName, readShellWrapper } from './shell-wrapper.ts'
import type { Words } from './started.ts'

const READERS =
  /^(xargs|parallel|ssh|source|\.|at|batch|busybox|python|python3|perl|ruby|node|php|lua|eval|su|sudo|doas|env|exec|nohup|timeout|command|nice|time)$/

/** Whether a command may take what it runs from its input: a shell without text, `xargs`, `source /dev/stdin`. */
export function readsCommandsFromInput(words: Words): boolean {
  const [program] = words
  if (program === undefined) return true
  const shell = readShellWrapper(words)
  if (shell) return shell.kind === 'unclear' && shell.readsInput
  return READERS.test(programName(program)) && readInlineCode(words) === undefined
}
