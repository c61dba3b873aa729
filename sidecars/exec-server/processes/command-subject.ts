import { createHash } from 'node:crypto'
import type { ProcessStartParams } from '../../protocol/exec-process.ts'
import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import { canonicalSubject, type CommandSubject } from '../../protocol/subject.ts'
import { isUnconfined } from '../sandbox/sandbox.ts'
import type { Environment } from './child-environment.ts'

/** What the owner is shown and what a decision is bound to: everything that makes the command what it is. */
export function commandSubject(
  params: ProcessStartParams,
  cwd: string,
  environment: Readonly<Environment>,
  inheritable: Readonly<Environment>,
): CommandSubject {
  const { argv, tty, pipeStdin, arg0, sandbox } = params
  return {
    kind: 'command',
    argv,
    cwd,
    envChanges: environmentChanges(environment, inheritable),
    tty,
    stdin: tty ? 'tty' : pipeStdin ? 'pipe' : 'none',
    sandbox: sandboxName(sandbox),
    ...(sandbox ? { sandboxDetail: sha256(canonicalSubject(sandbox)) } : {}),
    ...(arg0 !== undefined && arg0 !== argv[0] ? { arg0 } : {}),
  }
}

/** A value, or null for a variable that the child does not get; names sorted. */
function environmentChanges(
  environment: Readonly<Environment>,
  inheritable: Readonly<Environment>,
): Record<string, string | null> {
  const names = new Set([...Object.keys(environment), ...Object.keys(inheritable)])
  const changes: Record<string, string | null> = {}
  for (const name of [...names].sort())
    if (environment[name] !== inheritable[name]) changes[name] = environment[name] ?? null
  return changes
}

function sandboxName(sandbox: SandboxObject | undefined): CommandSubject['sandbox'] {
  if (!sandbox || sandbox.permissions.type === 'disabled') return 'none'
  if (sandbox.permissions.type === 'external') return 'external'
  if (isUnconfined(sandbox)) return 'none'
  const { file_system: files } = sandbox.permissions
  const isWritable = files.type === 'unrestricted' || files.entries.some(({ access }) => access === 'write')
  return isWritable ? 'workspace-write' : 'read-only'
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
