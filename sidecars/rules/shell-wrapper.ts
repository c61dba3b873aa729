/** `bash -lc TEXT` and its kind: what the shell reads is what counts, not the shell. */

const SHELLS = new Set(['sh', 'bash', 'dash', 'ash', 'ksh', 'zsh'])
/** Only flags that leave the meaning of the text alone: command, login, exit on error, unset is an error. */
const FLAGS = /^-[leu]*c[leu]*$/
const PRELUDE = /^-[leu]+$/

export type ShellWrapper =
  | { kind: 'text'; shell: string; text: string }
  /** A shell that is started in a way we do not follow; `why` says which. */
  | { kind: 'unclear'; shell: string; why: string }

/** The last part of a program's path. */
export function programName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1)
}

/** What a command line hands to a shell; undefined when its program is not a shell. */
export function readShellWrapper(words: readonly (string | undefined)[]): ShellWrapper | undefined {
  const [program] = words
  if (program === undefined) return undefined
  const shell = programName(program)
  if (!SHELLS.has(shell)) return undefined
  let at = 1
  for (let word = words[at]; word !== undefined && PRELUDE.test(word); word = words[at]) at++
  const flag = words[at]
  if (flag === undefined || !FLAGS.test(flag))
    return { kind: 'unclear', shell, why: 'it starts a shell whose commands cannot be seen' }
  const text = words[at + 1]
  if (text === undefined) return { kind: 'unclear', shell, why: 'the text for the shell is only known when it runs' }
  return { kind: 'text', shell, text }
}
