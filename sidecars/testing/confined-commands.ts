import { sandboxObject, type SandboxObject } from '../protocol/exec-sandbox.ts'
import { toPathUri } from '../protocol/path-uri.ts'
import type { ExecWireClient, StartOptions, WireMessage, WireProcess } from './exec-wire-client.ts'

export type EntryPlace = string | { kind: string; subpath?: string } | { glob: string }

/** An entry of a sandbox object; a text is an absolute path. */
export function entry(place: EntryPlace, access: string, skipMissing = false): object {
  const path =
    typeof place === 'string'
      ? { type: 'path', path: toPathUri(place) }
      : 'glob' in place
        ? { type: 'glob_pattern', pattern: place.glob }
        : { type: 'special', value: place }
  return { path, access, ...(skipMissing ? { missing_path_behavior: 'skip' } : {}) }
}

export interface SandboxShape {
  entries?: object[]
  network?: 'restricted' | 'enabled'
  /** Working directory and only workspace root. */
  root: string
  globScanMaxDepth?: number
}

/** A sandbox object as the Codex CLI sends it; without entries files are unrestricted. */
export function sandboxOf({ entries, network = 'restricted', root, globScanMaxDepth }: SandboxShape): SandboxObject {
  const restricted = { type: 'restricted', entries, glob_scan_max_depth: globScanMaxDepth }
  return sandboxObject(
    {
      permissions: { type: 'managed', file_system: entries ? restricted : { type: 'unrestricted' }, network },
      cwd: toPathUri(root),
      workspaceRoots: [toPathUri(root)],
      temporaryDirectories: [],
      windowsSandboxLevel: 'disabled',
    },
    'sandbox',
  )
}

/** What `workspace-write` and `read-only` of the Codex CLI are made of. */
export const READ_ONLY = [entry({ kind: 'root' }, 'read')]
export const WORKSPACE_WRITE = [
  ...READ_ONLY,
  entry({ kind: 'project_roots' }, 'write'),
  ...['.git', '.agents', '.codex', '.aws'].map((name) => entry({ kind: 'project_roots', subpath: name }, 'read', true)),
]

/** How a confined command ended. */
export interface ConfinedRun {
  sandboxType: unknown
  exitCode: number | undefined
  sandboxDenied: unknown
  text: string
}

/** The answer to a start that was refused. */
export function refusalOf(process: WireProcess): Promise<WireMessage['error']> {
  return process.started.then(({ error }) => error)
}

/** Runs a command line with bash to its end. */
export async function runConfined(
  client: ExecWireClient,
  commandLine: string,
  options: StartOptions,
): Promise<ConfinedRun> {
  const process = client.run(['/bin/bash', '-c', commandLine], options)
  await process.closed()
  const exited = client.notifications('process/exited').find(({ params }) => params?.processId === process.id)
  const { result } = await process.started
  return {
    sandboxType: result?.sandboxType,
    exitCode: process.exitCode,
    sandboxDenied: exited?.params?.sandboxDenied,
    text: process.text(),
  }
}
