/** What the owner can ask about rules, projects with rules, and rules of other programs. */
import type { Invokes } from '../../preload/api.ts'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import { canonicalHost, InvalidHost } from '../../sidecars/protocol/host-pattern.ts'
import type { RuleId } from '../../sidecars/protocol/ids.ts'
import type { Approvals } from '../approvals/approvals.ts'
import { previewRules } from '../approvals/lasting-decision.ts'
import type { Audit } from '../audit/audit.ts'
import type { Egress } from '../egress/egress.ts'
import type { ProxyRules } from '../egress/proxy-rules.ts'
import type { HostChannel } from '../intent-arguments.ts'
import { findImportSources, previewImport } from './import/import-sources.ts'
import type { ProjectTrust } from './project-trust.ts'
import { AMENDED_FILE } from './rule-folder.ts'
import { ruleWords, stepText, stepView, type Judgement, type Rules } from './rules.ts'

export interface RuleIntentServices {
  rules: Rules
  proxyRules: ProxyRules
  egress: Egress
  audit: Audit
  approvals: Approvals
  projects: ProjectTrust
}

export type RuleChannel = Extract<HostChannel, `rules.${string}` | `projects.${string}`>
export type RuleHandlers = {
  [C in RuleChannel]: (args: Invokes[C]['args'], actor: Actor) => Invokes[C]['result'] | Promise<Invokes[C]['result']>
}

/** Rules from the owner's hand are in force at once here; the proxy usually follows within a millisecond. */
const APPLY_MS = 5_000

export function ruleHandlers(services: RuleIntentServices): RuleHandlers {
  const { rules, proxyRules, egress, approvals, projects } = services
  return {
    'rules.remove': async ([ruleId], actor) => {
      await egress.undo(ruleId as RuleId, actor)
      return null
    },
    'rules.add': async ([typed], actor) => {
      const ruleId = add(services, typed, actor)
      await reachProxy(proxyRules)
      return { ruleId }
    },
    'rules.validate': ([typed]) => {
      try {
        return { words: ruleWords(rules.readText(typed)), problem: null }
      } catch (error) {
        return { words: null, problem: (error as Error).message.replace(/^text: /, '') }
      }
    },
    'rules.preview': ([typed]) => previewRules(rules, approvals.history, [rules.readText(typed)], AMENDED_FILE),
    'rules.check': ([typed, cwd]) => {
      const { verdict, chain } = checkText(rules, typed.trim(), cwd)
      return { verdict, chain: chain.map(stepText), steps: chain.map(stepView) }
    },
    'rules.importSources': () => findImportSources(),
    'rules.importPreview': async ([path]) => previewImport(path, await findImportSources()),
    'rules.import': async ([texts], actor) => {
      // All are read before the first is added: a bad one leaves nothing half done.
      for (const text of texts) rules.readText(text)
      const ruleIds = texts.map((text) => add(services, text, actor))
      await reachProxy(proxyRules)
      return { ruleIds }
    },
    'projects.list': () => projects.list(),
    'projects.trust': async ([root, trust], actor) => {
      await projects.set(root, trust)
      services.audit.record({ kind: 'project.trusted', root, trust, actor })
      await reachProxy(proxyRules)
      return null
    },
  }
}

function add({ rules, audit }: RuleIntentServices, typed: string, actor: Actor): RuleId {
  const { id, text, place } = rules.addText(typed)
  audit.record({ kind: 'rule.added', ruleId: id, text, scope: 'always', source: place?.file ?? AMENDED_FILE, actor })
  return id
}

async function reachProxy(proxyRules: ProxyRules): Promise<void> {
  await proxyRules.applied(APPLY_MS).catch(() => {
    // Shown beside the rule.
  })
}

/** A host with a port or a URL is looked up among the host rules, anything else is read as a command. */
function checkText(rules: Rules, typed: string, cwd: string): Judgement {
  const folder = cwd === '' ? undefined : cwd
  const match = /^(?:(https?|wss?):\/\/)?(\[[0-9a-fA-F:.]+\]|[^\s/:[\]]+)(?::(\d{1,5}))?(?:\/\S*)?$/.exec(typed)
  const [, scheme, host = '', port] = match ?? []
  if (scheme === undefined && port === undefined) return rules.checkShellText(typed, folder)
  try {
    return rules.checkHost({
      host: canonicalHost(host),
      port: Number(port ?? (/^(http|ws)$/.test(scheme!) ? 80 : 443)),
    })
  } catch (error) {
    if (error instanceof InvalidHost) return rules.checkShellText(typed, folder)
    throw error
  }
}
