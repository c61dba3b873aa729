import { realpath, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessStartParams } from '../../protocol/exec-process.ts'
import type { ChildSpec } from '../processes/child.ts'
import { findProgram } from '../processes/program-path.ts'
import type { Session } from '../sessions/session.ts'
import { reportOfLoginShell, type ReportOptions } from './login-shell-report.ts'
import { ShellSnapshot, snapshotScript } from './shell-snapshot.ts'

/** Scopes that are remembered; the oldest are forgotten. */
const MAX_SCOPES = 64

export interface ShellSnapshotOptions {
  /** Existing private folder for the scripts. */
  folder: string
  watchGroup: ReportOptions['watchGroup']
}

/**
 * Starts `SHELL -lc COMMAND` from what the login shell had become the first time, instead of reading its
 * startup files again: one snapshot for each scope that a client names. Whatever cannot start so starts as it
 * was asked for.
 */
export class ShellSnapshots {
  private readonly scopes = new Map<string, Promise<ShellSnapshot | undefined>>()
  private made = 0

  constructor(private readonly options: ShellSnapshotOptions) {}

  /** The command as it is to be started. The first one of a scope waits for the login shell. */
  async applyTo(spec: ChildSpec, params: ProcessStartParams, session: Session): Promise<ChildSpec> {
    const { shellSnapshot, argv } = params
    if (!shellSnapshot || !isLoginCommand(argv, shellSnapshot.shell) || 'BASH_ENV' in spec.environment) return spec
    const key = JSON.stringify([session.wireId, shellSnapshot.scopeId, shellSnapshot.shell.path])
    const snapshot = await this.snapshotOf(key, shellSnapshot.shell.path, spec)
    const environment = snapshot?.environmentFor(spec.environment)
    if (!snapshot || !environment) return spec
    const [name = '', , ...rest] = spec.argv
    return { ...spec, argv: [name, '-c', ...rest], environment: { ...environment, BASH_ENV: snapshot.path } }
  }

  private snapshotOf(key: string, shell: string, spec: ChildSpec): Promise<ShellSnapshot | undefined> {
    const known = this.scopes.get(key)
    if (known) return known
    // A shell that could not be asked is not asked again.
    const making = this.make(shell, spec).catch(() => undefined)
    this.scopes.set(key, making)
    for (const [oldest, forgotten] of this.scopes) {
      if (this.scopes.size <= MAX_SCOPES) break
      this.scopes.delete(oldest)
      void forgotten.then((snapshot) => snapshot && unlink(snapshot.path).catch(() => {}))
    }
    return making
  }

  private async make(shell: string, { cwd, environment }: ChildSpec): Promise<ShellSnapshot | undefined> {
    const found = findProgram('env', '/', '/usr/bin:/bin')
    if (!('path' in found)) return undefined
    const before = { ...environment }
    const report = await reportOfLoginShell({
      shell,
      envProgram: found.path,
      at: { cwd, environment: before },
      watchGroup: this.options.watchGroup,
    })
    // Startup files that change the folder cannot be done without.
    if (!report || (await realpath(report.cwd)) !== (await realpath(cwd))) return undefined
    const path = join(this.options.folder, `shell-${this.made++}`)
    await writeFile(path, snapshotScript(report), { mode: 0o600 })
    return new ShellSnapshot(before, report.environment, path)
  }
}

/** bash alone is known well enough to be taken apart and put together again. */
function isLoginCommand(argv: readonly string[], shell: { name: string; path: string }): boolean {
  return shell.name === 'bash' && argv[0] === shell.path && argv[1] === '-lc' && argv.length >= 3
}
