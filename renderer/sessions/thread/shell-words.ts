/** `bash -lc 'what the model wrote'` is shown as what the model wrote. */
export function wordsOfShell(command: string): string {
  const quoted = /^\S*sh -l?c '([\s\S]*)'$/.exec(command)?.[1]
  if (quoted !== undefined) return quoted.replaceAll(`'\\''`, "'").replaceAll(`'"'"'`, "'")
  const doubled = /^\S*sh -l?c "([^"$`\\]*)"$/.exec(command)?.[1]
  return doubled ?? /^\S*sh -l?c ([^\s'"]+)$/.exec(command)?.[1] ?? command
}
