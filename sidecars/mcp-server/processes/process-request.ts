import { existsSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { DecodeError } from '../../protocol/decode.ts'

/** A command as an agent words it, before anything was checked. */
export interface CommandWords {
  argv?: string[] | undefined
  shell?: string | undefined
  login?: boolean | undefined
  cwd?: string | undefined
  env?: Record<string, string> | undefined
  tty?: boolean | undefined
  stdin?: boolean | undefined
}

/** A command that can be put to the owner: every part is explicit. */
export interface ProcessRequest {
  argv: string[]
  cwd: string
  env: Record<string, string>
  tty: boolean
  pipeStdin: boolean
}

/**
 * Programs in a terminal page long output and wait for a key; an agent cannot press it. TERM is what
 * xterm.js, the terminal in the window, implements.
 */
const TTY_ENVIRONMENT = { TERM: 'xterm-256color', PAGER: 'cat', GIT_PAGER: 'cat' }

const SHELLS = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/bin/sh']
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/**
 * Checks and completes a command. The working folder is resolved through symbolic links, so that the
 * folder shown to the owner is the folder used.
 * @param defaultCwd where commands run that name no folder
 * @throws DecodeError naming the argument, the problem and the next step
 */
export function readCommand(words: CommandWords, defaultCwd: string | undefined): ProcessRequest {
  const argv = readArgv(words)
  const tty = words.tty ?? false
  const env = { ...(tty ? TTY_ENVIRONMENT : {}), ...words.env }
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.includes('=') || name.includes('\0'))
      throw new DecodeError(`env.${JSON.stringify(name)}`, 'not a name an environment variable can have')
    checkText(`env.${name}`, value)
  }
  return { argv, cwd: readCwd(words.cwd ?? defaultCwd), env, tty, pipeStdin: (words.stdin ?? false) && !tty }
}

function readArgv({ argv, shell, login }: CommandWords): string[] {
  if ((argv === undefined) === (shell === undefined))
    throw new DecodeError('argv', 'give either argv (a program and its arguments) or shell (one line of shell text)')
  if (shell !== undefined) {
    if (shell.trim() === '') throw new DecodeError('shell', 'expected a command, got only blanks')
    checkText('shell', shell)
    return [shellProgram(), login === true ? '-lc' : '-c', shell]
  }
  const words = argv ?? []
  if (words.length === 0 || words[0] === '') throw new DecodeError('argv[0]', 'expected the program to run')
  for (const [at, word] of words.entries()) checkText(`argv[${at}]`, word)
  return words
}

/** The operating system takes no NUL, and text that is not Unicode would be changed on its way. */
function checkText(path: string, text: string): void {
  if (text.includes('\0')) throw new DecodeError(path, 'contains a NUL character, which no command can receive')
  if (LONE_SURROGATE.test(text)) throw new DecodeError(path, 'is not valid Unicode (half of a surrogate pair)')
}

/**
 * Bash, because the rules read shell text with bash's grammar; plain sh where there is none. Not as a
 * login shell unless asked: the exec server already has the owner's login environment, profiles are
 * slow, and some (pyenv's) leave a lock behind when a stopped command ends them half-way.
 */
function shellProgram(): string {
  return SHELLS.find((path) => existsSync(path)) ?? '/bin/sh'
}

function readCwd(cwd: string | undefined): string {
  if (cwd === undefined)
    throw new DecodeError(
      'cwd',
      'this connection has no working folder; pass an absolute path, e.g. the project folder',
    )
  checkText('cwd', cwd)
  if (!isAbsolute(cwd)) throw new DecodeError('cwd', `expected an absolute path, got ${JSON.stringify(cwd)}`)
  const found = statSync(cwd, { throwIfNoEntry: false })
  if (!found) throw new DecodeError('cwd', `${cwd} does not exist`)
  if (!found.isDirectory()) throw new DecodeError('cwd', `${cwd} is not a folder`)
  return realpathSync(cwd)
}
