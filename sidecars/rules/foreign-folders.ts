/** Folders of rules that the owner let in beside their own. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where a project keeps rules of its own, below its folder. */
export const PROJECT_RULES = join('.gatehouse', 'rules')

/** A folder of rules that is not ours: read live and never written. */
export interface ForeignFolder {
  path: string
  /** Its rules hold for what runs below this folder; null = everywhere. */
  below: string | null
}

/** What the settings say of foreign rules. */
export interface ForeignSettings {
  projects: Record<string, 'trusted' | 'untrusted'>
  readCodexRules: boolean
}

/** The rules of trusted projects, and of the Codex CLI where the owner wants that. */
export function foreignFoldersOf({ projects, readCodexRules }: ForeignSettings): ForeignFolder[] {
  const trusted = Object.keys(projects).filter((root) => projects[root] === 'trusted')
  const folders: ForeignFolder[] = trusted.map((root) => ({ path: join(root, PROJECT_RULES), below: root }))
  if (readCodexRules)
    folders.push({ path: join(process.env.CODEX_HOME ?? join(homedir(), '.codex'), 'rules'), below: null })
  return folders
}

/**
 * The same, by the settings of a data folder as they stand on the disk. Settings that are missing, broken or
 * of another kind let nothing in. Never rejects.
 */
export async function readForeignFolders(dataFolder: string): Promise<ForeignFolder[]> {
  try {
    const settings: unknown = JSON.parse(await readFile(join(dataFolder, 'settings.json'), 'utf8'))
    const { projects, readCodexRules } = (settings ?? {}) as { projects?: unknown; readCodexRules?: unknown }
    return foreignFoldersOf({
      projects: typeof projects === 'object' ? ((projects ?? {}) as ForeignSettings['projects']) : {},
      readCodexRules: readCodexRules === true,
    })
  } catch {
    return []
  }
}
