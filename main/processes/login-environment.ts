import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename } from 'node:path'
import { StringDecoder } from 'node:string_decoder'

/**
 * Variables taken over from the login shell: where programs lie, how they talk, and what version managers
 * and agents of keys set there. Not the rest: a secret in a profile is none of an agent's business.
 */
const TAKEN_OVER = [
  'PATH',
  'MANPATH',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'SSH_AUTH_SOCK',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
  'NVM_DIR',
  'NVM_BIN',
  'FNM_MULTISHELL_PATH',
  'VOLTA_HOME',
  'PNPM_HOME',
  'BUN_INSTALL',
  'DENO_INSTALL',
  'PYENV_ROOT',
  'RBENV_ROOT',
  'SDKMAN_DIR',
  'JAVA_HOME',
  'ANDROID_HOME',
  'GOPATH',
  'GOROOT',
  'CARGO_HOME',
  'RUSTUP_HOME',
  'HOMEBREW_PREFIX',
]
/** Profiles that wait for input or start things exist; a person who starts an app does not wait longer. */
const DEADLINE_MS = 10_000
const MOST_BYTES = 1024 * 1024
/** The rest of the answer may lie in the pipe when the shell has ended. */
const AFTER_EXIT_MS = 500
/** What can be written into a script as it is. */
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const KNOWN_SHELLS = new Set(['bash', 'zsh', 'sh', 'dash', 'ksh', 'fish'])

export interface LoginEnvironment {
  variables: Record<string, string>
  /** Those of `alsoNames`, which are for nobody but whoever asked. */
  also?: Record<string, string>
  /** Set when the shell could not be asked; the host's own variables hold then. */
  warning?: string
}

export interface LoginEnvironmentOptions {
  /** Default: SHELL, else the user's entry in the password file. */
  shell?: string
  env?: NodeJS.ProcessEnv
  deadlineMs?: number
  /** Names of variables that are read beside the usual ones. */
  alsoNames?: readonly string[]
}

/**
 * The variables that a new terminal of the owner would have. Starts the login shell once, as login and
 * interactive shell (most set PATH for only one of these), without input, in a process group of its own
 * that is killed when it has answered or the deadline is over. Never rejects.
 */
export async function readLoginEnvironment(options: LoginEnvironmentOptions = {}): Promise<LoginEnvironment> {
  const { env = process.env, deadlineMs = DEADLINE_MS } = options
  const alsoNames = (options.alsoNames ?? []).filter((name) => VARIABLE_NAME.test(name))
  const shell = options.shell ?? env.SHELL ?? userInfo().shell ?? '/bin/sh'
  if (!KNOWN_SHELLS.has(basename(shell)))
    return { variables: {}, warning: `The login shell ${shell} is not one that can be asked for its environment.` }
  const mark = randomBytes(16).toString('hex')
  try {
    await access(shell, constants.X_OK)
    const output = await runShell([shell, scriptFor(mark, [...TAKEN_OVER, ...alsoNames])], mark, env, deadlineMs)
    const told = parseMarked(output, mark)
    const variables = pick(told, TAKEN_OVER)
    if (!variables.PATH) return { variables: {}, warning: `The login shell ${shell} did not tell its PATH.` }
    return { variables, also: pick(told, alsoNames) }
  } catch (error) {
    const message = `The login shell ${shell} could not be asked for its environment: ${(error as Error).message}.`
    return { variables: {}, warning: `${message} Commands get the environment that Gatehouse was started with.` }
  }
}

/** The mark tells the answer from banners and from anything a profile prints that looks like one. */
function scriptFor(mark: string, names: readonly string[]): string {
  const prints = names.map((name) => `printf '%s\\0' "${name}=$${name}"`)
  return [`printf '%s' ${mark}`, ...prints, `printf '%s' ${mark}`].join('; ')
}

function pick(from: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)))
}

function parseMarked(output: string, mark: string): Record<string, string> {
  const [, answer = ''] = output.split(mark)
  const variables: Record<string, string> = {}
  for (const line of answer.split('\0')) {
    const at = line.indexOf('=')
    const value = line.slice(at + 1)
    if (at > 0 && value !== '') variables[line.slice(0, at)] = value
  }
  return variables
}

/**
 * A profile may take minutes, and the host can be gone by then, however it went: the end of descriptor 3
 * ends the whole group.
 */
const GUARDED = '(read -r _ <&3; kill -s KILL 0) > /dev/null & exec 3<&-; exec "$@"'

/** Resolves with what the shell printed, up to the end of the answer or its own end. */
function runShell(
  [shell, script]: [shell: string, script: string],
  mark: string,
  env: NodeJS.ProcessEnv,
  deadlineMs: number,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', GUARDED, 'gatehouse-login', shell, '-l', '-i', '-c', script], {
      // Profiles that start programs must not write to our terminal, nor read from it.
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
      detached: true,
      cwd: env.HOME ?? '/',
      env: cleaned(env),
    })
    const decoder = new StringDecoder('utf8')
    let output = ''
    let timer = setTimeout(
      () => end(new Error(`it did not answer within ${Math.round(deadlineMs / 1000)} s`)),
      deadlineMs,
    )
    const end = (error?: Error) => {
      clearTimeout(timer)
      killGroup(child.pid)
      for (const stream of child.stdio) stream?.destroy()
      if (error) reject(error)
      else resolve(output)
    }
    child.once('error', end)
    // A shell that ends before the pipe was made says so by its exit.
    child.stdio[3]?.on('error', () => {})
    child.stdout?.on('data', (chunk: Buffer) => {
      output += decoder.write(chunk)
      if (output.split(mark).length > 2) end()
      else if (output.length > MOST_BYTES) end(new Error('it prints without end'))
    })
    child.once('close', () => end())
    child.once('exit', () => {
      // A profile's background program may hold the pipe for ever.
      clearTimeout(timer)
      timer = setTimeout(end, AFTER_EXIT_MS)
    })
  })
}

/** Gatehouse's and Electron's own variables would make a shell's programs behave oddly. */
function cleaned(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !/^(ELECTRON_|CHROME_|NODE_|GATEHOUSE_)/.test(name))
  // Known to switch off the updates and prompts of shell frameworks that would wait for an answer.
  return { ...Object.fromEntries(kept), TERM: 'dumb', DISABLE_AUTO_UPDATE: 'true', ZSH_TMUX_AUTOSTART: 'false' }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Everything in it has ended.
  }
}
