/** The Codex CLI's `config.toml` and its files of rules: what they mean as rules of ours. */
import { parse as parseToml } from 'smol-toml'
import { parseRuleFile } from '../../../sidecars/rules/rule-file.ts'
import { ImportDraft, ImportError, isTable, textsIn, type ImportPreview } from './import-preview.ts'

const ELSEWHERE: Record<string, string> = {
  approval_policy: 'how an agent is treated where no rule speaks is its gate, on the Agents page',
  sandbox_mode: 'the sandbox is chosen with each command',
  sandbox_workspace_write: 'the sandbox is chosen with each command',
  mcp_servers: 'other MCP servers stay where they are; Gatehouse is added on the Agents page',
}
/** "ask" is said "prompt" there. */
const EFFECTS = { allow: 'allow', deny: 'deny', prompt: 'ask', ask: 'ask' } as const

/**
 * Reads the text of `config.toml`.
 * @throws ImportError when it is not TOML
 */
export function previewCodexConfig(text: string): ImportPreview {
  let config: Record<string, unknown>
  try {
    config = parseToml(text)
  } catch (error) {
    throw new ImportError(`it is not TOML: ${(error as Error).message.split('\n')[0]}`, { cause: error })
  }
  const draft = new ImportDraft()
  for (const [key, why] of Object.entries(ELSEWHERE)) if (config[key] !== undefined) draft.leave(key, why)
  for (const [path, project] of Object.entries(isTable(config.projects) ? config.projects : {}))
    if (isTable(project) && project.trust_level === 'trusted')
      draft.leave(`projects: ${path}`, 'trust is given anew: under Projects, when it has rules of its own')
  for (const [name, profile] of Object.entries(isTable(config.permissions) ? config.permissions : {}))
    if (isTable(profile) && isTable(profile.network))
      importNetwork(draft, `permissions.${name}.network`, profile.network)
  return draft.preview
}

/** Hosts stand in a table of decisions, or in two lists. */
function importNetwork(draft: ImportDraft, place: string, network: Record<string, unknown>): void {
  for (const [host, decision] of Object.entries(isTable(network.domains) ? network.domains : {})) {
    const from = `${place}: ${host} = ${JSON.stringify(decision)}`
    const effect = Object.hasOwn(EFFECTS, String(decision)) ? EFFECTS[decision as keyof typeof EFFECTS] : undefined
    if (effect === undefined) draft.leave(from, 'expected "allow" or "deny"')
    else draft.addHost(from, host, effect)
  }
  for (const host of textsIn(network.allowed_domains)) draft.addHost(`${place}: ${host}`, host, 'allow')
  for (const host of textsIn(network.denied_domains)) draft.addHost(`${place}: ${host}`, host, 'deny')
}

/** Reads the text of one file of rules: its literal rules, and the places that are more than that. */
export function previewCodexRules(name: string, text: string): ImportPreview {
  const draft = new ImportDraft()
  const { rules, problems, executables } = parseRuleFile(name, text)
  for (const rule of rules) {
    const from = `${name}:${rule.place?.line ?? 0}`
    const words = rule.kind === 'command' ? rule.pattern.map(([word = '']) => word) : undefined
    // Only the text counts as written; a rule that allows too much is not taken over by a click.
    if (words && rule.effect === 'allow' && rule.kind === 'command' && rule.pattern.every((word) => word.length === 1))
      draft.addCommand(from, words, 'allow')
    else draft.addText(from, rule.text, null)
  }
  for (const { place } of executables)
    draft.leave(`${name}:${place.line}`, 'host_executable is for the file it stands in; copy it by hand')
  for (const { line, message } of problems) draft.leave(`${name}:${line}`, message)
  return draft.preview
}
