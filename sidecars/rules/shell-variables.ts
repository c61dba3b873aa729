/**
 * Which variables a shell text may set without changing what programs do, and which commands change what is known
 * of variables and functions. Sources: bash(1), dash(1), zshparam(1), zshbuiltins(1).
 */
import { programName } from './shell-wrapper.ts'
import type { Words } from './started.ts'

/**
 * Names in small letters belong to the text alone, as long as no shell and no program gives them a meaning: zsh
 * ties `path` to PATH, npm reads `npm_…`, and many programs read `http_proxy` and its kind.
 */
const SHELL_NAME = /^[a-z][a-z0-9_]*$/
const SPECIAL_NAME =
  /^(path|fpath|cdpath|manpath|mailpath|infopath|module_path|fignore|psvar|prompt\d*|watch|histchars|argv|status|pipestatus|signals|options|functions|aliases|galiases|saliases|commands|builtins|parameters|modules|history|historywords|widgets|keymaps|mapfile|terminfo|termcap|langinfo|errnos|sysparams|auto_resume|npm_.*|.*_proxy|dis_.*|zle_.*|zsh_.*|bash_.*)$/

/** Whether setting the variable concerns nobody but the text itself. */
export const isShellVariable = (name: string): boolean => SHELL_NAME.test(name) && !SPECIAL_NAME.test(name)

/** Builtins, and words of the shell that the grammar may take for programs: they set variables or run text here. */
const CHANGING = new Set(
  [
    'eval . source read readarray mapfile getopts let declare typeset local export readonly integer float private',
    'unset wait trap alias unalias enable set shift exec command builtin shopt setopt unsetopt emulate vared print',
    'zparseopts zstat sysread syswrite sysopen zmodload zformat zregexparse zselect ztcp zsocket zpty zcurses zftp',
    'strftime autoload functions unfunction hash unhash rehash bind bindkey complete compgen compdef fc history sched',
    'noglob nocorrect time coproc getln stat zle',
    '- { } ! if then elif else fi while until do done for case esac select function repeat foreach end always in [[ ]]',
  ].flatMap((line) => line.split(' ')),
)
/** Found before functions of the same name where a shell keeps to POSIX. */
const SPECIAL_BUILTINS = new Set(
  ': . break continue eval exec exit export readonly return set shift source times trap unset'.split(' '),
)
/** Functions that shells call by themselves. */
const HOOK =
  /^(TRAP[A-Z0-9]+|command_not_found_handler?|zshexit|chpwd|precmd|preexec|periodic|zshaddhistory|zsh_directory_name|prompt_.*)$/

/** Whether a command may set variables, define functions or run text in the shell that reads it. */
export function changesShell(words: Words): boolean {
  const [program, ...args] = words
  if (program === undefined) return true
  if (program === 'printf') return args[0] === undefined ? args.length > 0 : args[0].startsWith('-')
  return CHANGING.has(program) || CHANGING.has(programName(program))
}

/** `break`, `return` and the like: what stands behind is not run, what is known here holds further out. */
export const leavesBlock = ([program]: Words): boolean =>
  program === 'break' || program === 'continue' || program === 'return'

/** The same, or the end of the shell, with nothing but a number: a word of every shell that starts no program. */
export const isPlainJump = (words: Words): boolean =>
  (leavesBlock(words) || words[0] === 'exit') &&
  words.slice(1).every((word) => word !== undefined && /^\d+$/.test(word))

/** Whether a function of that name is certainly what a call of it runs. */
export const isPlainFunctionName = (name: string): boolean =>
  /^[A-Za-z_]\w*$/.test(name) && !SPECIAL_BUILTINS.has(name) && !CHANGING.has(name)

export const isHookName = (name: string): boolean => HOOK.test(name)
