/** Variables that only change how a program talks, never what it runs. */
const HARMLESS = new Set(
  'CI TERM COLORTERM COLUMNS LINES LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE GIT_TERMINAL_PROMPT DEBIAN_FRONTEND PYTHONUNBUFFERED PYTHONIOENCODING CODEX_CI CODEX_THREAD_ID CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED'.split(
    ' ',
  ),
)
/** Programs in these are run; naming `cat` or nothing switches paging off. */
const PAGERS = new Set(['PAGER', 'GIT_PAGER', 'GH_PAGER', 'MANPAGER', 'SYSTEMD_PAGER'])

/**
 * The first change of the environment that could make a command do something else (a search path, options
 * for an interpreter, a program to call), or undefined. A name that is not known counts. A search path
 * passes when it leads nowhere that the owner's own does not.
 */
export function findTellingVariable(
  changes: Record<string, string | null>,
  isTrustedSearchPath: (path: string) => boolean,
): string | undefined {
  return Object.entries(changes).find(([name, value]) => {
    // Without a search path the shell takes a default one.
    if (name === 'PATH') return value === null || !isTrustedSearchPath(value)
    return value !== null && !isHarmlessVariable(name, value)
  })?.[0]
}

/** Whether setting the variable can only change how programs talk. */
export function isHarmlessVariable(name: string, value: string): boolean {
  if (PAGERS.has(name)) return value === '' || value === 'cat'
  return HARMLESS.has(name) || /^LC_[A-Z]+$/.test(name)
}

/** Variables whose value is a command that some program runs, or that the shell itself expands and runs. */
export const isCommandVariable = (name: string): boolean =>
  /^(PS\d|PROMPT_COMMAND|BASH_ENV|ENV|LESSOPEN|LESSCLOSE|BROWSER|SHELL)$|(EDITOR|PAGER|COMMAND|_DIFF|_SSH|_ASKPASS)$/.test(
    name,
  )
