/** What is found in a text for a shell. */
import type { Words } from './started.ts'

/** One program that a shell text could run. */
export interface ReadCommand {
  /** Words as they are at run time; `undefined` where only running could tell. */
  words: (string | undefined)[]
  /** As written, for people. */
  text: string
}

export interface ReadText {
  /** Every command anywhere in the text, also inside substitutions and functions, in order. */
  commands: ReadCommand[]
  /** What in the text was not followed, one clause each; empty = `commands` and `writes` are all there is to it. */
  unclear: string[]
  /** Files that output goes to. */
  writes: WrittenFile[]
  /** Here-documents and here-strings: what some command gets as input. */
  inputs: string[]
  /**
   * What may be a command all the same: values of variables such as PROMPT_COMMAND, backquotes where the
   * grammar does not look into them, every piece of a text that is not complete, and commands with variables that
   * have a known value on some way only.
   */
  hints: (string | Words)[]
}

/** One redirection of output. */
export interface WrittenFile {
  /** As it is at run time, relative to the folder of the command. */
  path: string
  /** The redirection as written. */
  text: string
}
