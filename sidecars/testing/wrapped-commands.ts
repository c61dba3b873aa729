/** Ways in which one command can be put into another, for properties that hold whatever is around a command. */
/** A command as words, or as text that only a shell understands. */
export type Tree = { words: string[] } | { text: string }
const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
export const textOf = (tree: Tree): string => ('text' in tree ? tree.text : tree.words.map(quote).join(' '))
/** Wrappers that take words get a shell when the command is text. */
const wordsOf = (tree: Tree): string[] => ('words' in tree ? tree.words : ['bash', '-c', tree.text])
/** Where more words follow, a text has to end first: `sh -c 'echo x | sh' f` is not `echo x | sh f`. */
const wordsBefore = (tree: Tree): string[] =>
  'words' in tree && tree.words.every((word) => !/\s/.test(word)) ? tree.words : ['sh', '-c', textOf(tree)]

const before =
  (...words: string[]) =>
  (tree: Tree): Tree => ({ words: [...words, ...wordsOf(tree)] })
const asText =
  (wrap: (text: string) => string) =>
  (tree: Tree): Tree => ({ text: wrap(textOf(tree)) })
/** The program and the rest of the words, each as shell text. */
const inText =
  (wrap: (parts: [program: string, rest: string]) => string) =>
  (tree: Tree): Tree => {
    const [program = '', ...rest] = wordsOf(tree).map(quote)
    return { text: wrap([program, rest.join(' ')]) }
  }
const asArgument =
  (...words: string[]) =>
  (tree: Tree): Tree => ({ words: [...words, textOf(tree)] })

/** Every way of wrapping that is followed; each keeps the command in plain sight of a careful reader. */
export const WRAPPERS: Record<string, (tree: Tree) => Tree> = {
  'sh -c': asArgument('sh', '-c'),
  'bash -lc': asArgument('bash', '-lc'),
  'zsh -lc': asArgument('zsh', '-lc'),
  'bash -xc': asArgument('bash', '-xc'),
  'bash -o': asArgument('/bin/bash', '-o', 'pipefail', '-c'),
  env: before('env', 'A=1', '-u', 'B'),
  'env -S': (tree) => ({ words: ['env', '-S', wordsOf(tree).map(quote).join(' ')] }),
  sudo: before('sudo', '-n', '-u', 'root'),
  doas: before('doas'),
  xargs: before('xargs', '-0', '-n1'),
  find: (tree) => ({ words: ['find', '.', '-type', 'f', '-exec', ...wordsOf(tree), ';'] }),
  'find +': (tree) => ({ words: ['find', '.', '-execdir', ...wordsBefore(tree), '{}', '+'] }),
  'git alias': (tree) => ({ words: ['git', '-c', `alias.a=!${textOf(tree)}`, 'a'] }),
  'git pager': (tree) => ({ words: ['git', '-c', `core.pager=${textOf(tree)}`, 'log'] }),
  'git foreach': asArgument('git', 'submodule', 'foreach'),
  'git bisect': before('git', 'bisect', 'run'),
  ssh: asArgument('ssh', '-p', '22', 'host'),
  // These join their words with blanks and hand them to a shell.
  'ssh words': (tree) => ({ words: ['ssh', '-o', 'BatchMode=yes', 'user@host', ...wordsOf(tree).map(quote)] }),
  timeout: before('timeout', '-k', '1', '5'),
  nohup: before('nohup'),
  nice: before('nice', '-n', '5'),
  stdbuf: before('stdbuf', '-oL'),
  setsid: before('setsid', '-f'),
  time: before('time', '-p'),
  command: before('command'),
  exec: before('exec', '-a', 'ls'),
  busybox: before('busybox'),
  script: asArgument('script', '-qc'),
  watch: (tree) => ({ words: ['watch', '-n1', ...wordsOf(tree).map(quote)] }),
  su: asArgument('su', 'root', '-c'),
  docker: before('docker', 'run', '--rm', 'image'),
  npx: before('npx', '--'),
  eval: asArgument('eval'),
  trap: (tree) => ({ words: ['trap', textOf(tree), 'EXIT'] }),
  alias: (tree) => ({ words: ['alias', `ls=${textOf(tree)}`] }),
  python: (tree) => ({ words: ['python3', '-c', `import os; os.system(${JSON.stringify(textOf(tree))})`] }),
  'python argv': (tree) => ({
    words: ['python3', '-c', `import subprocess as s; s.run(${JSON.stringify(wordsOf(tree))})`],
  }),
  node: (tree) => ({
    words: ['node', '-e', `require("child_process").execSync(${JSON.stringify(textOf(tree))})`],
  }),
  perl: (tree) => ({ words: ['perl', '-e', `system(${JSON.stringify(textOf(tree))})`] }),
  'pipe into a shell': asText((text) => `echo ${quote(text)} | sh`),
  'pipe from': asText((text) => `${text} | cat`),
  'pipe to': asText((text) => `ls | { ${text}\n}`),
  and: asText((text) => `ls && ${text}`),
  or: asText((text) => `ls || ${text}`),
  semicolon: asText((text) => `${text}; ls`),
  lines: asText((text) => `ls # a comment\n${text}\n`),
  background: asText((text) => `ls & ${text}`),
  subshell: asText((text) => `(${text}\n)`),
  group: asText((text) => `{ ${text}\n}`),
  not: asText((text) => `! { ${text}\n}`),
  substitution: asText((text) => `echo "$(${text}\n)"`),
  'process substitution': asText((text) => `cat <(${text}\n)`),
  if: asText((text) => `if true; then ${text}\nfi`),
  while: asText((text) => `while true; do ${text}\ndone`),
  for: asText((text) => `for a in 1 2; do ${text}\ndone`),
  case: asText((text) => `case a in a) ${text}\n;; esac`),
  function: asText((text) => `ls() {\n${text}\n}\nls`),
  'function called in a loop': asText((text) => `f() {\n${text}\n}; for i in 1 2; do f; done`),
  'function argument': inText(([program, rest]) => `f() { "$1" ${rest}; }; f ${program}`),
  variable: inText(([program, rest]) => `c=${program}; "$c" ${rest}`),
  'variable set on one way': inText(([program, rest]) => `c=ls; if ls; then c=${program}; fi; "$c" ${rest}`),
  'variable set before a break': inText(
    ([program, rest]) => `c=ls; while ls; do c=${program}; ls && break; c=ls; done; "$c" ${rest}`,
  ),
  'variable in a variable': inText(
    ([program, rest]) => `d=${program}; c=$d; eval ''; d=${program}; c="$d"; "$c" ${rest}`,
  ),
  'loop variable': inText(([program, rest]) => `for c in ls ${program}; do "$c" ${rest}; done`),
  redirection: asText((text) => `{ ${text}\n} >/dev/null 2>&1`),
  'here-document': asText((text) => `bash <<'GATE'\n${text}\nGATE\n`),
  'here-document beside': asText((text) => `cat <<'GATE'\ndata\nGATE\n${text}`),
  'here-string': asText((text) => `bash <<< ${quote(text)}`),
  'source of input': asText((text) => `source /dev/stdin <<< ${quote(text)}`),
  assignment: asText((text) => `A=1 bash -c ${quote(text)}`),
  'search path': asText((text) => `PATH=.:$PATH; ${text}`),
  'set earlier': asText((text) => `cd /; set -e; export A=1; ${text}`),
  'prompt command': asText((text) => `PROMPT_COMMAND=${quote(text)} bash -i`),
  // What shells read in ways of their own.
  'tight subshells': asText((text) => `((${text}\n)\n)`),
  'tight subshells, closed at once': asText((text) => `((${text}\n))`),
  'subshell first in a subshell': asText((text) => `((${text}\n); ls)`),
  'subshell last in a subshell': asText((text) => `(ls; (${text}\n))`),
  'subshell first in a substitution': asText((text) => `echo "$((${text}\n); ls)"`),
  'subshell first in an input': asText((text) => `cat <((${text}\n); ls)`),
  'subshell first in backquotes': asText((text) => '`(' + text.replaceAll(/[\\`$]/g, '\\$&') + '\n)`'),
  'tight subshells in a case': asText((text) => `case a in (a) ((${text}\n)\n);; esac`),
  'after arithmetic': asText((text) => `((1)); ${text}`),
  'after an arithmetic value': asText((text) => `echo $((1 + 2)) && ${text}`),
  'inside of arithmetic': asText((text) => `echo $((1 + $(${text}\n)))`),
  'inside of an arithmetic command': asText((text) => `((1 + $(${text}\n)))`),
  'arithmetic condition': asText((text) => `if ((1 < 2)); then ${text}\nfi`),
  'arithmetic loop': asText((text) => `for ((i = 0; i < 1; i++)); do ${text}\ndone`),
  'after a test': asText((text) => `[[ a == a ]] && { ${text}\n}`),
  'inside of a test': asText((text) => `[[ -n "$(${text}\n)" ]]`),
  'test of a loop': asText((text) => `until ${text}\ndo ls; done`),
  'condition of an if': asText((text) => `if ls; ${text}\nthen ls; elif ls; then ls; fi`),
  elif: asText((text) => `if false; then ls; elif true; then ${text}\nfi`),
  else: asText((text) => `if false; then ls; else ${text}\nfi`),
  'case that goes on': asText((text) => `case a in a) ls;;& *) ${text}\n;; esac`),
  'case that falls through': asText((text) => `case a in a) ls;& b) ${text}\nesac`),
  'case in a case': asText((text) => `case a in a) case b in b) ls;; (*) ${text}\n;; esac;; esac`),
  select: asText((text) => `select a in b; do ${text}\ndone`),
  coproc: asText((text) => `coproc { ${text}\n}`),
  'time of a group': asText((text) => `time { ${text}\n}`),
  'not of a subshell': asText((text) => `! (${text}\n)`),
  'not, twice': asText((text) => `! ! { ${text}\n}`),
  'function with a keyword': asText((text) => `function f { ${text}\n}; f`),
  'function that is a subshell': asText((text) => `f() (${text}\n)\nf`),
  'function with a redirection': asText((text) => `f() { ${text}\n} 2>/dev/null; f`),
  'value of a variable': asText((text) => `a=$(${text}\n)`),
  'value before a command': asText((text) => `A="$(${text}\n)" ls`),
  'value in an array': asText((text) => `a=(b $(${text}\n))`),
  'index of an array': asText((text) => `a[$(${text}\n)]=1`),
  'default of a variable': asText((text) => `echo "\${a:-$(${text}\n)}"`),
  'exported value': asText((text) => `export A="$(${text}\n)"`),
  'substitution in a here-document': asText((text) => `cat <<GATE\n$(${text}\n)\nGATE\n`),
  'here-document in a substitution': asText((text) => `echo "$(cat <<'END'\nx\nEND\n${text}\n)"`),
  'behind a here-document with tabs': asText((text) => `cat <<-END\n\tx\n\tEND\n${text}`),
  'behind two here-documents': asText((text) => `cat <<A <<'B'\nx\nA\ny\nB\n${text}`),
  'in the line of a here-document': asText((text) => `cat <<END && { ${text}\n}\nx\nEND\n`),
  'substitution in a here-string': asText((text) => `cat <<< "$(${text}\n)"`),
  'input of a descriptor': asText((text) => `exec 3< <(${text}\n)`),
  'output of a descriptor': asText((text) => `ls > >(${text}\n)`),
  'both streams piped': asText((text) => `ls |& { ${text}\n}`),
  'redirection in front': asText((text) => `2>/dev/null bash -c ${quote(text)}`),
  'redirection in between': inText(([program, rest]) => `${program} 2>/dev/null ${rest}`),
  'input in between': inText(([program, rest]) => `${program} <<< x ${rest}`),
  'here-document in between': inText(([program, rest]) => `${program} <<END ${rest}\nx\nEND\n`),
  'what only some shells know': inText(([program, rest]) => `ls &>/dev/null ${program} ${rest}`),
  'carriage return': asText((text) => `ls\r\n${text}`),
  'escaped line end': asText((text) => `ls \\\n; ${text}`),
}
