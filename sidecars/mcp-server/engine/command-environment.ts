/** Variables that make programs behave for a reader without a screen (the reference's set). */
export function commandEnvironment(): Record<string, string> {
  return {
    NO_COLOR: '1',
    TERM: 'dumb',
    LANG: 'C.UTF-8',
    LC_CTYPE: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
    COLORTERM: '',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GH_PAGER: 'cat',
    CODEX_CI: '1',
  }
}
