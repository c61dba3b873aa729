/** `bash -lc TEXT` and its kind: what the shell reads is what counts, not the shell. */
import { anyCommandIn, type Words } from './started.ts'

const SHELLS = new Set(['sh', 'bash', 'dash', 'ash', 'ksh', 'mksh', 'zsh', 'rbash'])
/** Flags that leave the meaning of the text alone: login, exit on error, unset is an error, no start files. */
const PLAIN_FLAGS = /^-[lefu]*c?[lefu]*$/
/** Any cluster of short options, e.g. `-xc`. */
const CLUSTER = /^[-+][A-Za-z]+$/
const LONG_WITH_VALUE = /^--(init-file|rcfile|emulate)$/

export type ShellWrapper =
  /** `notes`: options that may change what the text does. */
  | { kind: 'text'; shell: string; text: string; notes: string[] }
  /** A shell that is started in a way we do not follow; `why` says which. */
  | { kind: 'unclear'; shell: string; why: string; hints: (string | Words)[]; readsInput: boolean }

/** The last part of a program's path. */
export function programName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1)
}

/** What a command line hands to a shell; undefined when its program is not a shell. */
export function readShellWrapper(words: Words): ShellWrapper | undefined {
  const [program] = words
  if (program === undefined) return undefined
  const shell = programName(program)
  if (!SHELLS.has(shell)) return undefined
  const unclear = (why: string, at: number, readsInput: boolean): ShellWrapper => ({
    kind: 'unclear',
    shell,
    why,
    hints: anyCommandIn(words.slice(at)),
    readsInput,
  })
  const notes: string[] = []
  let hasText = false
  let at = 1
  for (; at < words.length; at++) {
    const word = words[at]
    if (word === undefined) return unclear('an argument for the shell is only known when it runs', at, true)
    if (word === '--' || word === '-') {
      at += 1
      break
    }
    if (!/^[-+]/.test(word)) break
    if (!PLAIN_FLAGS.test(word)) notes.push(`the option ${word} may change what the shell does`)
    if (CLUSTER.test(word)) {
      hasText ||= word.startsWith('-') && word.includes('c')
      // `-o pipefail`, `-O extglob`.
      if (/[oO]$/.test(word)) at += 1
    } else if (LONG_WITH_VALUE.test(word)) at += 1
  }
  const text = words[at]
  const script = words[at]
  const readsInput = script === undefined || script.startsWith('/dev/') || words.slice(0, at).includes('-s')
  if (!hasText) return unclear('it starts a shell whose commands cannot be seen', 1, readsInput)
  if (text === undefined)
    return unclear(
      at < words.length ? 'the text for the shell is only known when it runs' : 'the text for the shell is missing',
      at,
      false,
    )
  return { kind: 'text', shell, text, notes }
}
