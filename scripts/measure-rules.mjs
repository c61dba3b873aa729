// Measures how long a verdict takes: typical commands, and shell text of 10 KB. Prints a table for
// docs/performance.md. `node scripts/measure-rules.mjs`
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const outDir = join(root, 'out', `.measure-rules-${process.pid}`)
const WARM_UP = 2_000
const ROUNDS = 20_000

const RULES = [
  ...['status', 'log', 'diff', 'show', 'grep', 'branch'].map((word) => `prefix_rule(["git", "${word}"])`),
  ...['ls', 'cat', 'echo', 'find', 'sort', 'rg', 'head', 'tail', 'wc'].map((word) => `prefix_rule(["${word}"])`),
  'prefix_rule(["npm", ["ls", "test", "run"]])',
  'prefix_rule(["sed", "-n"])',
  'prefix_rule(["rm"], "prompt")',
  'prefix_rule(["git", "push"], "prompt")',
  'prefix_rule(["rm", "-rf"], "forbidden")',
  'prefix_rule(["sudo"], "forbidden")',
  // A folder as it grows over a year.
  ...Array.from({ length: 300 }, (_, i) => `prefix_rule(["tool${i}", "sub${i % 7}"])`),
].join('\n')
const TYPICAL = [
  'ls -la',
  'git status && git diff --stat',
  'npm test -- --run sidecars/rules 2>&1 | tail -40',
  "sed -n '1,120p' main/host.ts",
  'rg -n "judgeCommand" sidecars main | head -20',
  'cd sidecars && ls && cat package.json | head -5',
  "cat <<'EOF' > notes.txt\none\ntwo\nEOF\n",
  'for f in a b c; do echo "$f"; done',
  'timeout 60 npm run build || git push origin HEAD',
  `python3 -c 'import json,sys; print(json.load(sys.stdin)["a"])' < f.json`,
]
/** About 10 KB of the kind of text that agents write. */
const LONG = Array.from(
  { length: 160 },
  (_, i) => `echo "step ${i}" && git log -${i} --oneline | head -5 && cat file${i}.txt; ls "$HOME"`,
)
  .join('\n')
  .slice(0, 10_240)

try {
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node18',
      outDir,
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(
          ['judge-command', 'rule-file', 'shell-grammar'].map((name) => [
            name,
            join(root, `sidecars/rules/${name}.ts`),
          ]),
        ),
        checks: { eval: false },
        output: { format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: '[name]-[hash].cjs' },
      },
    },
  })
  await measure()
} finally {
  rmSync(outDir, { recursive: true, force: true })
}

async function measure() {
  const load = createRequire(join(outDir, 'here.js'))
  const { judgeCommand } = load('./judge-command.cjs')
  const { parseRuleFile } = load('./rule-file.cjs')
  const startedAtMs = performance.now()
  const grammar = await load('./shell-grammar.cjs').loadShellGrammar()
  const grammarMs = performance.now() - startedAtMs
  const rules = { commands: parseRuleFile('measured.rules', RULES).rules, executables: new Map() }
  const context = { grammar, isFileOf: () => true, isTrustedSearchPath: () => true }
  const timeOf = (text) => {
    const before = performance.now()
    judgeCommand({ argv: ['bash', '-lc', text], envChanges: {} }, rules, context)
    return performance.now() - before
  }
  const run = (texts, warmUp, rounds) => {
    for (let i = 0; i < warmUp; i++) timeOf(texts[i % texts.length])
    return Array.from({ length: rounds }, (_, i) => timeOf(texts[i % texts.length])).sort((a, b) => a - b)
  }
  const rows = [
    ['typical commands', run(TYPICAL, WARM_UP, ROUNDS)],
    [`${LONG.length} bytes of shell text`, run([LONG], 5, 60)],
  ]
  console.log(`Node ${process.version}, ${cpus()[0]?.model ?? 'unknown'}, ${rules.commands.length} rules`)
  console.log(`grammar loaded in ${grammarMs.toFixed(0)} ms\n`)
  console.log('| what | p50 | p99 | worst |\n|--|--|--|--|')
  const at = (times, share) => times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(2)
  for (const [name, times] of rows)
    console.log(`| ${name} | ${at(times, 0.5)} ms | ${at(times, 0.99)} ms | ${at(times, 1)} ms |`)
}
