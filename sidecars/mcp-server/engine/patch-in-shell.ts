/**
 * A shell command that is nothing but `apply_patch <<'EOF' … EOF` (optionally behind `cd DIR &&`) is a
 * patch and is handled as one: shown as a change of files, not run as a process.
 */
const PATCH_COMMAND =
  /^\s*(?:cd\s+(?<cwd>'[^']*'|"[^"$`\\]*"|[\w./@+-]+)\s*&&\s*)?(?:apply_patch|applypatch)\s+<<-?\s*(?<quote>['"]?)(?<word>\w+)\k<quote>\s*\n(?<body>[\s\S]*)$/

export function patchInShell(command: string): { text: string; cwd: string | null } | null {
  const groups = PATCH_COMMAND.exec(command)?.groups
  if (!groups) return null
  const lines = groups.body!.replace(/\s+$/, '').split('\n')
  if (lines.at(-1)?.trim() !== groups.word) return null
  return {
    text: lines.slice(0, -1).join('\n'),
    cwd: groups.cwd === undefined ? null : groups.cwd.replace(/^['"]|['"]$/g, ''),
  }
}
