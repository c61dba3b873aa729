/**
 * Command rules of the engine: prefix rules of its own home folder, read again when the file changes. Only
 * plain command lines are read; everything else has no verdict and is left to the policy.
 */
import { readFileSync, statSync } from 'node:fs'
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandRules, CommandVerdict } from '../engine/services.ts'

type Effect = 'allow' | 'ask' | 'deny'
const RULE =
  /^prefix_rule\(\s*pattern\s*=\s*(\[[^\]]*\])\s*(?:,\s*decision\s*=\s*"(allow|prompt|forbidden)")?[^)]*\)\s*(?:#.*)?$/
const EFFECTS: Record<string, Effect> = { allow: 'allow', prompt: 'ask', forbidden: 'deny' }
const SAFE = new Set([
  'cat',
  'cd',
  'cut',
  'echo',
  'expr',
  'false',
  'grep',
  'head',
  'id',
  'ls',
  'nl',
  'paste',
  'pwd',
  'rev',
  'seq',
  'stat',
  'tail',
  'tr',
  'true',
  'uname',
  'uniq',
  'wc',
  'which',
  'whoami',
])
/** First words that would allow nearly anything. */
const BANNED = new Set([
  'bash',
  'sh',
  'zsh',
  'python',
  'python3',
  'node',
  'perl',
  'ruby',
  'env',
  'sudo',
  'xargs',
  'git',
  'npx',
  'ssh',
  'find',
  'timeout',
  'nohup',
])

interface Rule {
  prefix: string[]
  effect: Effect
}

export class PlainRules implements CommandRules {
  private rules: Rule[] = []
  private stamp = ''
  private readonly path: string

  constructor(home: string) {
    this.path = join(home, 'rules', 'default.rules')
  }

  private refresh(): void {
    const found = statSync(this.path, { throwIfNoEntry: false })
    const stamp = found ? `${found.mtimeMs} ${found.size} ${found.ino}` : ''
    if (stamp === this.stamp) return
    this.stamp = stamp
    const text = found ? readFileSync(this.path, 'utf8') : ''
    this.rules = text.split('\n').flatMap((line) => {
      const found = RULE.exec(line.trim())
      if (!found) return []
      try {
        return [{ prefix: JSON.parse(found[1]!) as string[], effect: EFFECTS[found[2] ?? 'allow']! }]
      } catch {
        return []
      }
    })
  }

  judge(argv: readonly string[]): CommandVerdict {
    this.refresh()
    const commands = plainCommands(argv)
    const whole = argv.join(' ')
    if (!commands) {
      return {
        verdict: 'none',
        reason: null,
        knownSafe: false,
        dangerous: /\brm\s+(?:-\w+\s+)*(?:-\w*f|--force)/.test(whole),
        proposedPrefix: [...argv],
      }
    }
    const effects = commands.map((words) => this.effectOf(words))
    const verdict = effects.includes('deny')
      ? 'deny'
      : effects.includes('ask')
        ? 'ask'
        : effects.every((e) => e === 'allow')
          ? 'allow'
          : 'none'
    const open = commands[effects.findIndex((effect) => effect !== 'allow')]
    return {
      verdict,
      reason: verdict === 'deny' ? 'a rule forbids it' : verdict === 'ask' ? 'a rule asks' : null,
      knownSafe: commands.every((words) => SAFE.has(words[0]!)),
      dangerous: commands.some(isDangerous),
      proposedPrefix:
        verdict === 'none' && open && !BANNED.has(open[0]!) ? open : verdict === 'none' ? [...argv] : null,
    }
  }

  acceptsPrefix(prefix: readonly string[], argv: readonly string[]): boolean {
    this.refresh()
    if (prefix.length === 0 || (prefix.length === 1 && BANNED.has(prefix[0]!))) return false
    const commands = plainCommands(argv)
    return commands !== null && commands.every((words) => startsWith(words, prefix) || this.effectOf(words) === 'allow')
  }

  async addPrefix(prefix: readonly string[]): Promise<void> {
    const line = `prefix_rule(pattern=${JSON.stringify(prefix).replaceAll('","', '", "')}, decision="allow")`
    await mkdir(join(this.path, '..'), { recursive: true, mode: 0o700 })
    const before = await readFile(this.path, 'utf8').catch(() => '')
    if (before.split('\n').includes(line)) return
    await appendFile(this.path, `${before === '' || before.endsWith('\n') ? '' : '\n'}${line}\n`, { mode: 0o600 })
  }

  private effectOf(words: readonly string[]): Effect | null {
    const matching = this.rules.filter((rule) => startsWith(words, rule.prefix)).map((rule) => rule.effect)
    return matching.includes('deny') ? 'deny' : matching.includes('ask') ? 'ask' : (matching[0] ?? null)
  }
}

const startsWith = (words: readonly string[], prefix: readonly string[]): boolean =>
  prefix.length > 0 && prefix.every((word, i) => words[i] === word)

function isDangerous(words: readonly string[]): boolean {
  const own = words[0] === 'sudo' ? words.slice(1) : words
  return own[0] === 'rm' && own.slice(1).some((word) => word === '--force' || /^-\w*f/.test(word))
}

/** Plain words joined by && || ; | inside a shell's -c, or an argv without a shell; null for anything else. */
function plainCommands(argv: readonly string[]): string[][] | null {
  const shell = /(?:^|\/)(?:ba|z|da)?sh$/.test(argv[0] ?? '') && /^-l?c$/.test(argv[1] ?? '') && argv.length === 3
  if (!shell) return argv.length > 0 ? [[...argv]] : null
  const commands = argv[2]!.split(/\s*(?:&&|\|\||;|\|)\s*/).map((part) => part.trim())
  if (commands.some((part) => !/^[\w./@:+,=%-]+(?:\s+[\w./@:+,=%-]+)*$/.test(part))) return null
  return commands.map((part) => part.split(/\s+/))
}
