import { watch, type FSWatcher } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describeDiskTrouble } from '../storage/disk-trouble.ts'
import { replaceFile } from '../storage/replace-file.ts'
import { appendRule, readIfThere, withRulesLock } from '../../sidecars/rules/append-rule.ts'
import { isByproduct, readRuleFile, type ReadRules, type RuleProblem } from '../../sidecars/rules/read-rule-file.ts'
import type { RuleFile } from '../../sidecars/rules/rule-file.ts'
import { readRuleCalls } from '../../sidecars/rules/rule-syntax.ts'
import type { HostExecutable, Rule } from '../../sidecars/rules/rule.ts'

/** Changes that the file system does not announce (a link's target, a network drive) are found this late. */
const POLL_MS = 2_000
const SETTLE_MS = 30

export { AMENDED_FILE } from '../../sidecars/rules/append-rule.ts'
export type { RuleProblem }

export interface LoadedRules {
  rules: Rule[]
  executables: HostExecutable[]
  problems: RuleProblem[]
  fileCount: number
}

/**
 * The folder of rules files.
 *
 * A broken or unreadable file never makes anything more permissive: none of its allow rules is in force,
 * its other rules are, and so are the asking and denying rules that it held when it was last good in this
 * run. Files are never written over; lines are appended and taken out under a lock.
 */
export class RuleFolder {
  private loaded = new Map<string, ReadRules>()
  private folderProblems: RuleProblem[] = []
  private watcher: FSWatcher | undefined
  private timers: { settle?: NodeJS.Timeout; poll?: NodeJS.Timeout } = {}
  private signature = ''
  private reading: Promise<void> = Promise.resolve()

  /** A foreign folder is never made or written, and its files go by their whole path. */
  constructor(
    readonly path: string,
    private readonly onChanged: () => void,
    private readonly options: { isForeign?: boolean } = {},
  ) {}

  current(): LoadedRules {
    const files = [...this.loaded.values()]
    return {
      rules: files.flatMap((file) => file.rules),
      executables: files.flatMap((file) => file.executables),
      problems: [...this.folderProblems, ...files.flatMap((file) => file.problems)],
      fileCount: this.loaded.size,
    }
  }

  /** Reads everything once and watches for changes from then on. */
  async start(): Promise<void> {
    await this.reload()
    this.startWatching()
    this.timers.poll = setInterval(() => void this.poll(), POLL_MS)
    this.timers.poll.unref()
  }

  stop(): void {
    this.watcher?.close()
    clearTimeout(this.timers.settle)
    clearInterval(this.timers.poll)
    this.timers = {}
  }

  /** Reads all files again; resolves when they are in force. Runs one after the other. */
  reload(): Promise<void> {
    const read = () => this.readAll()
    // One reading that failed must not end all later ones.
    this.reading = this.reading.then(read, read)
    return this.reading
  }

  /**
   * Appends one rule on a line of its own, unless the line is there already, and reads the file again.
   * Resolves with the file's name. Rejects with a sentence when the disk refuses.
   */
  async append(text: string): Promise<string> {
    return this.changed(() => appendRule(this.path, text))
  }

  /** Takes a rule out of its file and leaves everything else, comments too, as it is. False when it is not there. */
  async remove(rule: Rule): Promise<boolean> {
    const { place, text } = rule
    if (!place) return false
    return this.changed(() =>
      withRulesLock(this.path, async () => {
        const path = join(this.path, place.file)
        const content = await readIfThere(path)
        const calls = readRuleCalls(content).calls.filter((call) => call.text === text)
        const call = calls.find(({ line }) => line === place.line) ?? calls[0]
        if (!call) return false
        await replaceFile(path, withoutSpan(content, call.start, call.end))
        return true
      }),
    )
  }

  private async changed<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      await this.reload()
      return result
    } catch (error) {
      throw new Error(`The rules in ${this.path} cannot be changed: ${await describeDiskTrouble(error, this.path)}`, {
        cause: error,
      })
    }
  }

  private async readAll(): Promise<void> {
    this.signature = await this.sign()
    const { names, problems } = await this.listNames()
    const loaded = new Map<string, ReadRules>()
    for (const name of names) loaded.set(name, await this.readFile(name, this.loaded.get(name)?.good))
    this.loaded = loaded
    this.folderProblems = problems
    this.onChanged()
  }

  private async listNames(): Promise<{ names: string[]; problems: RuleProblem[] }> {
    try {
      if (!this.options.isForeign) await mkdir(this.path, { recursive: true, mode: 0o700 })
      const all = (await readdir(this.path)).filter((name) => !isByproduct(name)).sort()
      const odd = all.filter((name) => !name.endsWith('.rules'))
      return {
        names: all.filter((name) => name.endsWith('.rules')),
        problems: (this.options.isForeign ? [] : odd).map((file) => ({
          file,
          line: null,
          message: 'it is not read, because its name does not end in ".rules"',
        })),
      }
    } catch (error) {
      if (this.options.isForeign && (error as NodeJS.ErrnoException).code === 'ENOENT')
        return { names: [], problems: [] }
      const message = `the folder cannot be read: ${await describeDiskTrouble(error, this.path)}`
      return { names: [...this.loaded.keys()], problems: [{ file: this.path, line: null, message }] }
    }
  }

  private readFile(name: string, good: RuleFile | undefined): Promise<ReadRules> {
    const path = join(this.path, name)
    return readRuleFile(path, {
      name: this.options.isForeign ? path : name,
      good,
      describe: (error) => describeDiskTrouble(error, path),
    })
  }

  private startWatching(): void {
    try {
      this.watcher = watch(this.path, () => this.settle())
      this.watcher.on('error', () => this.watcher?.close())
    } catch {
      // No more watches to be had, or no folder: the poll finds changes.
    }
  }

  /** Editors write in several steps; a burst is read once. */
  private settle(): void {
    this.timers.settle ??= setTimeout(() => {
      delete this.timers.settle
      void this.poll()
    }, SETTLE_MS)
  }

  private async poll(): Promise<void> {
    if ((await this.sign()) !== this.signature) await this.reload()
  }

  /** Changes whenever a file in the folder, or what it links to, does. */
  private async sign(): Promise<string> {
    const names = (await readdir(this.path).catch(() => [])).filter((name) => !isByproduct(name)).sort()
    const parts = await Promise.all(
      names.map(async (name) => {
        const found = await stat(join(this.path, name)).catch(() => undefined)
        return found ? `${name} ${found.ino} ${found.size} ${found.mtimeMs} ${found.mode}` : `${name} gone`
      }),
    )
    return parts.join('\n')
  }
}

/** The text without a call; the whole line goes when nothing else stands on it. */
function withoutSpan(text: string, start: number, end: number): string {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const newline = text.indexOf('\n', end)
  const lineEnd = newline < 0 ? text.length : newline + 1
  const around = text.slice(lineStart, start) + text.slice(end, lineEnd)
  return around.trim() === '' ? text.slice(0, lineStart) + text.slice(lineEnd) : text.slice(0, start) + text.slice(end)
}
