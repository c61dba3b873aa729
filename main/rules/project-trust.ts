import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { ProjectView } from '../../preload/api.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { foreignFoldersOf, PROJECT_RULES } from '../../sidecars/rules/foreign-folders.ts'
import { realTarget } from '../../sidecars/rules/writable-places.ts'
import type { Notices } from '../feed/notices.ts'
import type { SettingsStore } from '../settings/settings.ts'
import { findProject } from './project-folder.ts'
import type { Rules } from './rules.ts'

export interface ProjectTrustOptions {
  settings: Pick<SettingsStore, 'current' | 'set'>
  rules: Pick<Rules, 'useForeign'>
  notices: Pick<Notices, 'raise' | 'clear'>
  /** The owner's own folder of rules, which is no project's. */
  ownRules: string
}

/**
 * Which projects may bring rules of their own. An agent can write into a project, so its rules are not in
 * force before the owner said so; a project with rules that somebody works in is named to the owner.
 */
export class ProjectTrust {
  /** Projects that were worked in during this run. */
  private readonly met = new Set<string>()

  constructor(private readonly options: ProjectTrustOptions) {}

  /** Reads the rules of what is trusted now. Resolves when they are in force. */
  apply(): Promise<void> {
    return this.options.rules.useForeign(foreignFoldersOf(this.options.settings.current))
  }

  /** Somebody works in a folder. Asks the owner when its project has rules and was never decided about. */
  noteFolder(cwd: string): void {
    const root = findProject(cwd, this.options.ownRules)
    if (root === undefined || this.met.has(root)) return
    this.met.add(root)
    if (this.trustOf(root) === 'unknown')
      this.options.notices.raise(noticeId(root), {
        level: 'info',
        message: `The project ${basename(root)} brings rules of its own. They are not in force until you trust it on the Rules page.`,
        detail: join(root, PROJECT_RULES),
      })
  }

  /** Every project that was decided about, or worked in during this run. */
  list(): Promise<ProjectView[]> {
    const roots = [...new Set([...Object.keys(this.options.settings.current.projects), ...this.met])].sort()
    return Promise.all(roots.map(async (root) => ({ root, trust: this.trustOf(root), files: await ruleFiles(root) })))
  }

  /** Rejects with RpcError `invalidParams` for a folder that is not absolute or not there. */
  async set(folder: string, trust: 'trusted' | 'untrusted'): Promise<void> {
    const root = folder.startsWith('/') ? realTarget(folder) : undefined
    if (root === undefined)
      throw new RpcError('invalidParams', `root: expected the absolute path of a folder, got ${folder}`)
    const { settings, notices } = this.options
    await settings.set({ projects: { ...settings.current.projects, [root]: trust } })
    notices.clear(noticeId(root))
    await this.apply()
  }

  private trustOf(root: string): ProjectView['trust'] {
    const { projects } = this.options.settings.current
    return Object.hasOwn(projects, root) ? projects[root]! : 'unknown'
  }
}

const noticeId = (root: string): string => `project ${root}`

async function ruleFiles(root: string): Promise<string[]> {
  const names = await readdir(join(root, PROJECT_RULES)).catch(() => [])
  return names.filter((name) => name.endsWith('.rules')).sort()
}
