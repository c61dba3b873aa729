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
    if (HARMLESS.has(name) || /^LC_[A-Z]+$/.test(name)) return false
    // Without a search path the shell takes a default one.
    if (name === 'PATH') return value === null || !isTrustedSearchPath(value)
    if (PAGERS.has(name)) return value !== null && value !== '' && value !== 'cat'
    return value !== null
  })?.[0]
}
