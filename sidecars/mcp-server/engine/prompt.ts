/** What every request begins with: who the model is here, and where it works. */
import type { Settings } from './thread-settings.ts'
import type { SandboxRoots } from './services.ts'
import { textMessage } from './model-history.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'

export const DEFAULT_INSTRUCTIONS = `You are a coding agent working on a person's own computer through Gatehouse, which shows them everything you do.

- Work in the given folder. Read before you change, keep changes small, and check them by running what the project offers for that.
- Use exec_command for commands and apply_patch for edits. Commands run in a sandbox; when one needs more, ask for it with sandbox_permissions and say why in one sentence.
- A refused command is a decision of the person. Do not look for a way round it; say what you would need, or go on without it.
- Network connections go through a proxy that may refuse a host. That is deliberate too.
- Say briefly what you are about to do, then what you found and changed. Name files with their paths. No praise, no filler.`

/** The developer and user messages in front of the history, made once per thread and after a compaction. */
export function openingMessages(options: {
  baseInstructions: string
  developerInstructions: string | null
  environment: string
}): ResponseItem[] {
  return [
    textMessage('developer', options.baseInstructions),
    ...(options.developerInstructions ? [textMessage('developer', options.developerInstructions)] : []),
    textMessage('user', options.environment),
  ]
}

export function environmentContext(settings: Settings, roots: SandboxRoots, shell: string, now: Date): string {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const writable =
    roots.writable === null ? 'everywhere' : roots.writable.length === 0 ? 'nowhere' : roots.writable.join(', ')
  const network = networkWord(settings)
  return [
    '<environment_context>',
    `  <cwd>${settings.cwd}</cwd>`,
    `  <shell>${shell}</shell>`,
    `  <current_date>${now.toISOString().slice(0, 10)}</current_date>`,
    `  <timezone>${timezone}</timezone>`,
    `  <filesystem>writable: ${writable}</filesystem>`,
    `  <network>${network}</network>`,
    '</environment_context>',
  ].join('\n')
}

function networkWord({ sandboxPolicy }: Settings): string {
  switch (sandboxPolicy.type) {
    case 'dangerFullAccess':
      return 'open'
    case 'externalSandbox':
      return sandboxPolicy.networkAccess
    default:
      return sandboxPolicy.networkAccess ? 'through the proxy' : 'none'
  }
}

/** Put into the history when a turn was interrupted, so that the model knows what it may not assume. */
export const INTERRUPTION_MARKER =
  '<turn_aborted>\nThe person interrupted the previous turn. Commands and edits of it may have run partly; look before you rely on them.\n</turn_aborted>'

export const COMPACTION_PROMPT =
  'Your conversation is about to be shortened. Write a hand-over for yourself: what the person wants, what was decided and why, what was changed (files, commands), what is open and the next step. Be complete and brief; leave out small talk.'

export const COMPACTION_PREFIX =
  'The conversation before this point was shortened. This is the hand-over that was written then:'

export const PLAN_MODE_INSTRUCTIONS =
  "Plan mode is on: do not change anything. Read, ask with request_user_input where a choice is the person's, and answer with a plan that can be followed step by step."
