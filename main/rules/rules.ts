import type { Verdict } from '../../sidecars/protocol/decision.ts'
import type { RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { whyPatternLauncher } from '../../sidecars/rules/banned-prefix.ts'
import {
  judgeCommand,
  judgeShellText,
  type CommandContext,
  type CommandPlace,
} from '../../sidecars/rules/judge-command.ts'
import { judgeConnection, rulesForProxy, type ProxyRules } from '../../sidecars/rules/judge-connection.ts'
import { judgementOf, type Judgement } from '../../sidecars/rules/judgement.ts'
import { proposeCommandRules, proposeHostRule, shellTextOf } from '../../sidecars/rules/proposed-rule.ts'
import type { ForeignFolder } from '../../sidecars/rules/foreign-folders.ts'
import { ForeignRules } from './foreign-rules.ts'
import { AMENDED_FILE, RuleFolder, type RuleProblem } from './rule-folder.ts'
import { parseRuleFile, parseSingleRule } from '../../sidecars/rules/rule-file.ts'
import { ruleIdOf, type HostRule, type Rule } from '../../sidecars/rules/rule.ts'
import { RulesInForce } from '../../sidecars/rules/rules-in-force.ts'
import { SessionGrants, type SessionGrant } from './session-grants.ts'

export { stepText, stepView, decidingStep, type JudgedStep, type Judgement } from '../../sidecars/rules/judgement.ts'
export type { RuleProblem } from './rule-folder.ts'
export { matchesConnection } from '../../sidecars/rules/judge-connection.ts'
export { ruleWords } from '../../sidecars/rules/rule-text.ts'
export { grantView, ruleView, type RuleViewContext } from './rule-view.ts'
export { ProgramPath } from '../../sidecars/rules/program-path.ts'
export { loadShellGrammar, type ShellGrammar } from '../../sidecars/rules/shell-grammar.ts'
export { placeName, type HostRule, type Rule } from '../../sidecars/rules/rule.ts'
export type { SessionGrant } from './session-grants.ts'
export type { ProxyRules } from '../../sidecars/rules/judge-connection.ts'

/** A rule that could not be saved holds in memory and is tried again this often. */
const SAVE_RETRY_MS = 10_000

export interface RulesOptions {
  folder: string
  context: CommandContext
  /** One sentence when rules cannot be saved, null when they are again. */
  onTrouble?: (message: string | null) => void
  /** A rule decided something; its count in the window is old. */
  onFired?: () => void
  /** Where a session works; connections have no folder of their own. */
  folderOf?: (sessionId: SessionId) => string | undefined
}

/** A subject with what identifies it. */
export interface Judged {
  subject: Subject
  subjectHash: string
  sessionId: SessionId
}

/**
 * Every rule in force, from files, for sessions and not yet saved, and their verdicts.
 *
 * A new rule is in force when the call that adds it returns; writing it to its file comes after and never
 * holds anybody up.
 */
export class Rules {
  private readonly folder: RuleFolder
  private readonly grants = new SessionGrants()
  /** Host rules that end with their session. */
  private sessionHosts: HostRule[] = []
  /** Rules that are not in their file yet, by text. */
  private readonly unsaved = new Map<string, Rule>()
  /** Texts of rules that are being removed while their file may still hold them. */
  private readonly leaving = new Set<string>()
  private readonly foreign: ForeignRules
  private inForce = RulesInForce.NONE
  /** Open sessions, for the proxy, which knows rules of a session but no folders. */
  private readonly openSessions = new Set<SessionId>()
  private byId = new Map<RuleId, Rule>()
  private readonly listeners = new Set<() => void>()
  private readonly fired = new Map<RuleId, { count: number; lastAtMs: number }>()
  private saving: Promise<void> | undefined
  private retryTimer: NodeJS.Timeout | undefined
  private stopped = false

  constructor(private readonly options: RulesOptions) {
    this.folder = new RuleFolder(options.folder, () => this.rebuild())
    this.foreign = new ForeignRules(() => this.rebuild())
  }

  /** Reads the files and watches them. Never rejects: what cannot be read is a problem in `problems()`. */
  start(): Promise<void> {
    return this.folder.start()
  }

  /** Stops watching; waits for a write that is under way. */
  async stop(): Promise<void> {
    this.stopped = true
    clearTimeout(this.retryTimer)
    this.folder.stop()
    this.foreign.stop()
    await this.saving
  }

  /** Reads exactly these folders of others beside ours. Resolves when their rules are in force. */
  useForeign(folders: readonly ForeignFolder[]): Promise<void> {
    return this.foreign.use(folders)
  }

  /** Called after every change of what is in force. Returns its disposer. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  all(): Rule[] {
    return [...this.standing(), ...this.foreign.all().rules, ...this.sessionHosts]
  }
  find(id: RuleId): Rule | undefined {
    return this.byId.get(id)
  }
  sessionGrants(): SessionGrant[] {
    return this.grants.all()
  }
  problems(): RuleProblem[] {
    return [...this.folder.current().problems, ...this.foreign.all().problems]
  }
  fileCount(): number {
    return this.folder.current().fileCount + this.foreign.all().fileCount
  }
  forProxy(): ProxyRules {
    const ofProjects = [...this.openSessions].flatMap((sessionId) =>
      this.projectHosts(sessionId).map((rule): HostRule => ({ ...rule, sessionId })),
    )
    return rulesForProxy([...this.inForce.hosts, ...ofProjects])
  }

  /** The verdict on a subject. A denial by any rule wins over everything that was allowed for a session. */
  judge(judged: Judged): Judgement {
    const written = this.judgeWritten(judged)
    if (written.verdict === 'deny') return written
    return this.grants.judge(judged.subject, judged.subjectHash, judged.sessionId) ?? written
  }

  /** "Would this run?" for a line of shell text. */
  checkShellText(text: string, cwd?: string): Judgement {
    return judgeShellText(text, this.inForce.commandsAt(cwd), this.options.context)
  }
  /** "Would this be reached?", for any session. */
  checkHost(to: { host: string; port: number }): Judgement {
    return judgeConnection({ ...to, protocol: 'https' }, '' as SessionId, this.inForce.hosts)
  }

  /** Whether one rule alone would speak of a subject; for previews. */
  speaksOf(rule: Rule, { subject, sessionId }: Pick<Judged, 'subject' | 'sessionId'>): boolean {
    if (rule.kind === 'network')
      return (
        subject.kind === 'connection' && judgeConnection(subject, sessionId, [rule]).chain.some((step) => step.rule)
      )
    if (subject.kind !== 'command') return false
    // Most of the past has nothing to do with the rule, and reading shell text takes time.
    if (!rule.pattern[0]!.some((word) => subject.argv.some((part) => part.includes(word)))) return false
    const only = { commands: [rule], executables: this.inForce.commandsAt(undefined).executables }
    return judgeCommand(subject, only, this.options.context).chain.some((step) => step.rule)
  }

  /**
   * Rules that "always" would write for a subject, so that it is decided as `verdict` from now on;
   * undefined when none may be offered. `anyPort` widens a host rule.
   */
  propose(judged: Judged, verdict: Verdict, anyPort = false): Rule[] | undefined {
    const texts = this.proposeTexts(judged, verdict, anyPort)
    const rules = texts?.map((text) => this.unsavedRule(text))
    if (!rules || rules.length === 0) return undefined
    const after = this.judgeWritten(judged, rules)
    return after.verdict === verdict ? rules : undefined
  }

  /** The rule for exactly this host, on its port or on every port. */
  hostRule(to: { host: string; port: number }, verdict: Verdict, anyPort: boolean): HostRule {
    const rule = this.unsavedRule(proposeHostRule(to, verdict, anyPort))
    if (rule.kind !== 'network') throw new RpcError('internal', 'a host rule must name a host')
    return rule
  }

  /** Puts rules in force at once and writes them to their file as soon as the disk takes them. */
  amend(rules: readonly Rule[]): Rule[] {
    const present = new Map(this.standing().map((rule) => [rule.text, rule]))
    const inForce = rules.map((rule) => present.get(rule.text) ?? rule)
    for (const rule of inForce) if (!present.has(rule.text)) this.unsaved.set(rule.text, rule)
    this.rebuild()
    void this.save()
    return inForce
  }

  /** Adds a rule as typed by the owner. Throws RpcError `invalidParams` saying what is wrong with it. */
  addText(text: string): Rule {
    return this.amend([this.readText(text)])[0]!
  }

  /** What `addText` would add. Throws like it. */
  readText(text: string): Rule {
    try {
      const rule = parseSingleRule(text)
      const banned = rule.kind === 'command' && rule.effect === 'allow' ? whyPatternLauncher(rule.pattern) : undefined
      if (banned !== undefined)
        throw new Error(`${banned}; name what may be run, or write the rule into a file by hand`)
      return this.unsavedRule(rule.text)
    } catch (error) {
      throw new RpcError('invalidParams', `text: ${(error as Error).message}`)
    }
  }

  /** A decision for the session about anything but a host. */
  grantForSession({ subject, subjectHash, sessionId }: Judged, verdict: Verdict, about: string): SessionGrant {
    const grant = this.grants.add(subject, subjectHash, sessionId, verdict, about)
    this.rebuild()
    return grant
  }

  /** A host rule that ends with its session; an opposite earlier one for the same hosts and ports is replaced. */
  addSessionHost(text: string, sessionId: SessionId): HostRule {
    const rule = parseSingleRule(text)
    if (rule.kind !== 'network') throw new RpcError('internal', 'a session rule must name a host')
    const { place: _, ...parts } = rule
    const added: HostRule = { ...parts, id: ruleIdOf(text, sessionId), sessionId }
    const isSame = (other: HostRule) =>
      other.sessionId === sessionId &&
      JSON.stringify([other.host, other.port]) === JSON.stringify([added.host, added.port])
    this.sessionHosts = [...this.sessionHosts.filter((other) => !isSame(other)), added]
    this.rebuild()
    return added
  }

  /**
   * Takes a rule out of force, and out of its file. Rejects with `notFound`, or `unavailable` when the
   * file cannot be changed (the rule then stays).
   */
  async remove(id: RuleId): Promise<Rule | SessionGrant> {
    const grant = this.grants.remove(id)
    const rule = this.all().find((candidate) => candidate.id === id)
    if (!grant && !rule) throw new RpcError('notFound', `There is no rule ${id} any more.`)
    if (rule?.place && this.foreign.has(rule.place.file))
      throw new RpcError(
        'invalidParams',
        `ruleId: the rule is in ${rule.place.file}, which is not ours; change it there`,
      )
    if (rule && this.sessionHosts.includes(rule as HostRule))
      this.sessionHosts = this.sessionHosts.filter((candidate) => candidate !== rule)
    else if (rule) await this.removeStanding(rule)
    this.rebuild()
    return grant ?? rule!
  }

  /** From now on the rules of its project hold for a session. */
  openSession(sessionId: SessionId): void {
    this.openSessions.add(sessionId)
    if (this.projectHosts(sessionId).length > 0) this.rebuild()
  }

  /** Ends what holds for a session only. */
  endSession(sessionId: SessionId): void {
    this.openSessions.delete(sessionId)
    const before = this.sessionHosts.length
    this.sessionHosts = this.sessionHosts.filter((rule) => rule.sessionId !== sessionId)
    if (this.grants.endSession(sessionId) || this.sessionHosts.length < before) this.rebuild()
  }

  /** Counts a decision that a rule made, or a question that it wanted to be asked. */
  noteFired(id: RuleId, atMs: number, count = 1): void {
    const before = this.fired.get(id)
    this.fired.set(id, { count: (before?.count ?? 0) + count, lastAtMs: Math.max(before?.lastAtMs ?? 0, atMs) })
    this.options.onFired?.()
  }
  firedOf(id: RuleId): { count: number; lastAtMs: number } | undefined {
    return this.fired.get(id)
  }

  /** Out of force at once; out of the file, also when a write that adds it is still under way. */
  private async removeStanding(rule: Rule): Promise<void> {
    const wasUnsaved = this.unsaved.delete(rule.text)
    this.leaving.add(rule.text)
    this.rebuild()
    try {
      if (wasUnsaved) await this.saving
      const saved = this.folder
        .current()
        .rules.find(({ text, place }) => text === rule.text && (wasUnsaved || place?.file === rule.place?.file))
      const found = saved !== undefined && (await this.folder.remove(saved))
      if (!found && !wasUnsaved) throw new RpcError('notFound', `The rule is no longer in ${rule.place?.file}.`)
    } catch (error) {
      if (error instanceof RpcError) throw error
      throw new RpcError('unavailable', (error as Error).message, undefined, { cause: error })
    } finally {
      this.leaving.delete(rule.text)
      this.rebuild()
    }
  }

  private judgeWritten({ subject, sessionId }: Judged, extra: readonly Rule[] = []): Judgement {
    switch (subject.kind) {
      case 'command':
        return judgeCommand(
          subject,
          this.inForce.commandsAt(subject.cwd, extra),
          this.options.context,
          placeOf(subject),
        )
      case 'connection': {
        const hosts = extra.filter((rule): rule is HostRule => rule.kind === 'network')
        return judgeConnection(subject, sessionId, [...this.inForce.hosts, ...this.projectHosts(sessionId), ...hosts])
      }
      case 'toolUse': {
        const text = shellTextOf(subject)
        return text === undefined
          ? asked(subject.toolName, 'no rule covers tools of other agents')
          : judgeShellText(
              text,
              this.inForce.commandsAt(this.options.folderOf?.(sessionId), extra),
              this.options.context,
            )
      }
      case 'fileChange':
        return subject.changes.some(({ outsideRoots }) => outsideRoots)
          ? asked('file changes', 'it changes files outside of the workspace')
          : asked('file changes', 'no rule covers file changes')
      case 'elicitation':
        return asked(subject.serverName, 'only you can fill in a form')
      case 'question':
        return asked('a question', 'only you can answer it')
    }
  }

  private projectHosts(sessionId: SessionId): readonly HostRule[] {
    return this.inForce.projectHostsAt(this.options.folderOf?.(sessionId))
  }

  private proposeTexts(judged: Judged, verdict: Verdict, anyPort: boolean): string[] | undefined {
    const { subject } = judged
    if (subject.kind === 'connection') return [proposeHostRule(subject, verdict, anyPort)]
    if (subject.kind !== 'command' && subject.kind !== 'toolUse') return undefined
    return proposeCommandRules(this.judgeWritten(judged).chain, verdict)
  }

  /** A rule as it will stand in the file, under the id it will have there. */
  private unsavedRule(text: string): Rule {
    const [rule] = parseRuleFile(AMENDED_FILE, text).rules
    if (!rule) throw new RpcError('internal', `not a rule: ${text}`)
    const { place: _, ...inMemory } = rule
    return inMemory
  }

  /** Rules of files, and those that are on their way there. */
  private standing(): Rule[] {
    const rules = [...this.folder.current().rules, ...this.unsaved.values()]
    return rules.filter((rule) => !this.leaving.has(rule.text))
  }

  private rebuild(): void {
    const { rules: saved, executables } = this.folder.current()
    for (const { text } of saved) this.unsaved.delete(text)
    this.byId = new Map(this.all().map((rule) => [rule.id, rule]))
    this.inForce = RulesInForce.of([...this.standing(), ...this.sessionHosts], executables, this.foreign.scoped())
    for (const listener of this.listeners) listener()
  }

  /** Writes unsaved rules one after the other; a failure is told and tried again. */
  private save(): Promise<void> {
    this.saving ??= this.saveAll().finally(() => (this.saving = undefined))
    return this.saving
  }

  private async saveAll(): Promise<void> {
    const attempted = new Set<string>()
    try {
      for (let next = this.nextUnsaved(attempted); next !== undefined; next = this.nextUnsaved(attempted)) {
        attempted.add(next)
        await this.folder.append(next)
      }
      this.options.onTrouble?.(null)
    } catch (error) {
      this.options.onTrouble?.(
        `${(error as Error).message}. New rules hold until Gatehouse stops; saving is tried again.`,
      )
      if (!this.stopped) this.retryTimer = setTimeout(() => void this.save(), SAVE_RETRY_MS)
    }
  }

  /** A rule that was appended to a broken file stays unsaved in memory, and is not appended twice. */
  private nextUnsaved(attempted: Set<string>): string | undefined {
    return [...this.unsaved.keys()].find((text) => !attempted.has(text))
  }
}

/** A sandbox that lets the project be written holds redirections to it; without one every file asks. */
function placeOf({ cwd, sandbox }: Extract<Subject, { kind: 'command' }>): CommandPlace | undefined {
  return sandbox === 'workspace-write' ? { cwd, writable: { roots: [cwd] } } : undefined
}

const asked = (about: string, because: string): Judgement =>
  judgementOf([{ effect: 'ask', about, because, cause: 'unclear' }])
