/** Claude Code's `settings.json`: what its permissions mean as rules of ours. */
import { exampleWords } from '../../../sidecars/rules/example-words.ts'
import type { Effect } from '../../../sidecars/rules/rule.ts'
import { ImportDraft, ImportError, isTable, textsIn, type ImportPreview } from './import-preview.ts'

const LISTS: Record<string, Effect> = { allow: 'allow', ask: 'ask', deny: 'deny' }
const FILE_TOOLS = /^(Read|Edit|Write|MultiEdit|NotebookEdit|Glob|Grep|LS)$/
const SHELL_MEANING = /[*?[\]{}$`;&|<>()\n]/

/**
 * Reads the text of such a file.
 * @throws ImportError when it is not a JSON object
 */
export function previewClaudeSettings(text: string): ImportPreview {
  const settings = parse(text)
  const draft = new ImportDraft()
  const permissions = isTable(settings.permissions) ? settings.permissions : {}
  for (const [list, effect] of Object.entries(LISTS))
    for (const entry of textsIn(permissions[list])) importEntry(draft, `${list}: ${entry}`, entry, effect)
  if (typeof permissions.defaultMode === 'string')
    draft.leave(
      `defaultMode: ${permissions.defaultMode}`,
      'how an agent is treated where no rule speaks is its gate, on the Agents page',
    )
  for (const folder of textsIn(permissions.additionalDirectories))
    draft.leave(`additionalDirectories: ${folder}`, 'folders that may be written belong to the sandbox of a session')
  const network = isTable(settings.sandbox) && isTable(settings.sandbox.network) ? settings.sandbox.network : {}
  for (const host of textsIn(network.allowedDomains)) draft.addHost(`allowedDomains: ${host}`, host, 'allow')
  for (const host of textsIn(network.deniedDomains)) draft.addHost(`deniedDomains: ${host}`, host, 'deny')
  return draft.preview
}

function parse(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ImportError(`it is not JSON: ${(error as Error).message}`, { cause: error })
  }
  if (!isTable(value)) throw new ImportError('it is not a JSON object')
  return value
}

/** `Tool` or `Tool(specifier)`. */
function importEntry(draft: ImportDraft, from: string, entry: string, effect: Effect): void {
  const [, tool = '', specifier] = /^([^()]+)(?:\((.*)\))?$/s.exec(entry.trim()) ?? []
  if (tool === 'Bash') return importCommand(draft, from, specifier, effect)
  if (tool === 'WebFetch') {
    const host = /^domain:(.+)$/.exec(specifier ?? '')?.[1]
    return host === undefined
      ? draft.leave(from, 'it names no host; where no rule speaks the setting for unknown hosts decides')
      : draft.addHost(from, host, effect)
  }
  if (FILE_TOOLS.test(tool)) return draft.leave(from, 'rules are about commands and hosts; files belong to the sandbox')
  if (tool.startsWith('mcp__')) return draft.leave(from, 'tools of other MCP servers do not pass Gatehouse')
  return draft.leave(from, tool === '' ? 'it cannot be read' : `the tool ${tool} does not pass Gatehouse`)
}

/** `Bash(git diff:*)` and `Bash(git diff *)` are prefixes, `Bash(git diff)` is exactly this line. */
function importCommand(draft: ImportDraft, from: string, specifier: string | undefined, effect: Effect): void {
  if (specifier === undefined || specifier.trim() === '' || /^[\s:*]*$/.test(specifier))
    return draft.leave(from, 'it means every command; that is the gate of the agent, not a rule')
  const [, prefix] = /^(.*?)(?::\*| \*)$/s.exec(specifier.trim()) ?? []
  const line = prefix ?? specifier.trim()
  if (SHELL_MEANING.test(line)) return draft.leave(from, 'it holds wildcards or shell syntax, and a rule is words')
  const words = exampleWords(line)
  if (!words || words.length === 0) return draft.leave(from, 'its words cannot be told')
  draft.addCommand(from, words, effect, prefix === undefined ? 'it also allows more words behind these' : null)
}
