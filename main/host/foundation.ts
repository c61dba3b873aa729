import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { SessionId } from '../../sidecars/protocol/ids.ts'
import { commandLineWords } from '../agents/command-line.ts'
import { Audit } from '../audit/audit.ts'
import { shellQuote } from '../audit/shell-quote.ts'
import { Feed } from '../feed/feed.ts'
import { Notices } from '../feed/notices.ts'
import { ProjectTrust } from '../rules/project-trust.ts'
import { loadShellGrammar, ProgramPath, Rules, type ShellGrammar } from '../rules/rules.ts'
import { settingsView, SettingsStore } from '../settings/settings.ts'

export interface FoundationOptions {
  dataDir: string
  version: string
  /** The file that is our command line. */
  program: string
  log: (message: string) => void
}

/** What a host stands on before any sidecar runs: the owner's settings and rules, the journal, the feed. */
export interface Foundation {
  readonly instanceId: string
  readonly startedAtMs: number
  /** The words that start our command line. */
  readonly commandLine: readonly string[]
  readonly rulesFolder: string
  readonly feed: Feed
  readonly notices: Notices
  readonly audit: Audit
  readonly settings: SettingsStore
  readonly rules: Rules
  readonly projects: ProjectTrust
  /** The owner's search path. */
  readonly programs: ProgramPath
  /** Called when a rule decided something; set by whoever shows the counts. */
  onRuleFired: () => void
  /** Where a session works; set by whoever knows the sessions. */
  folderOf: (sessionId: SessionId) => string | undefined
}

/**
 * Opens everything in the data folder. Never rejects because of what lies there: a corrupt or unreadable
 * file becomes a notice, and what is safe without it holds.
 */
export async function openFoundation({ dataDir, version, program, log }: FoundationOptions): Promise<Foundation> {
  const startedAtMs = Date.now()
  const instanceId = `host_${randomBytes(8).toString('hex')}`
  const rulesFolder = join(dataDir, 'rules')
  // Trouble that shows before there is a feed to show it in.
  const early: { id: string; level: 'warning' | 'error'; message: string }[] = []
  const [settings, grammar] = await Promise.all([
    SettingsStore.open({
      path: join(dataDir, 'settings.json'),
      onProblem: (message) => early.push({ id: `settings-${early.length}`, level: 'warning', message }),
    }),
    loadShellGrammar().catch((error: Error): ShellGrammar | null => {
      const message = `Shell text cannot be read, so all of it is asked about: ${error.message}`
      early.push({ id: 'grammar', level: 'error', message })
      return null
    }),
  ])
  const programs = new ProgramPath(process.env.PATH ?? '')
  const commandLine = commandLineWords(program, (name) => programs.find(name))
  const feed = new Feed({
    host: {
      version,
      instanceId,
      dataDir,
      platform: process.platform,
      startedAtMs,
      commandLine: shellQuote(commandLine),
    },
    settings: settingsView(settings.current),
    onListenerError: (error) => log(`a view failed: ${String(error)}`),
  })
  const notices = new Notices(feed, log)
  for (const { id, level, message } of early) notices.raise(id, { level, message })
  const audit = new Audit({
    folder: join(dataDir, 'audit'),
    onTrouble: (message) => {
      if (message === null) notices.clear('audit')
      else notices.raise('audit', { level: 'error', message: `${message} Records are kept in memory and tried again.` })
    },
    onDisplaced: (path) =>
      notices.raise('audit-displaced', {
        level: 'warning',
        message: `The audit journal ${path} was moved or removed while Gatehouse wrote to it. It goes on in a new file.`,
      }),
    onRepaired: (aside) =>
      notices.raise('audit-torn', {
        level: 'warning',
        message: `The last record of the audit journal was cut off by a crash. Its bytes were kept as ${aside}.`,
      }),
  })
  audit.record({ kind: 'host.started', version, instanceId, pid: process.pid })
  const rules = new Rules({
    folder: rulesFolder,
    context: {
      grammar,
      isFileOf: (name, path) => programs.isFileOf(name, path),
      isTrustedSearchPath: (path) => programs.isTrusted(path),
    },
    onTrouble: (message) => {
      if (message === null) notices.clear('rules-unsaved')
      else notices.raise('rules-unsaved', { level: 'error', message })
    },
    onFired: () => foundation.onRuleFired(),
    folderOf: (sessionId) => foundation.folderOf(sessionId),
  })
  const projects = new ProjectTrust({ settings, rules, notices, ownRules: rulesFolder })
  const foundation: Foundation = {
    instanceId,
    startedAtMs,
    commandLine,
    rulesFolder,
    feed,
    notices,
    audit,
    settings,
    rules,
    projects,
    programs,
    onRuleFired: () => {},
    folderOf: () => undefined,
  }
  return foundation
}
