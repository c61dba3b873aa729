import { readdir, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { RpcError } from '../../../sidecars/rpc/rpc-error.ts'
import { previewClaudeSettings } from './claude-settings.ts'
import { previewCodexConfig, previewCodexRules } from './codex-settings.ts'
import { ImportError, type ImportPreview } from './import-preview.ts'

/** A file of another program from which rules can be taken over. */
export interface ImportSource {
  agentName: string
  path: string
}

/** Nobody's settings are larger. */
const LARGEST_BYTES = 4 * 1024 * 1024

/** The files of settings that are on this machine now. */
export async function findImportSources(
  home = homedir(),
  codexHome = process.env.CODEX_HOME ?? join(home, '.codex'),
): Promise<ImportSource[]> {
  const codexRules = join(codexHome, 'rules')
  const names = (await readdir(codexRules).catch(() => [])).filter((name) => name.endsWith('.rules')).sort()
  const candidates: ImportSource[] = [
    { agentName: 'Codex CLI', path: join(codexHome, 'config.toml') },
    ...names.map((name) => ({ agentName: 'Codex CLI', path: join(codexRules, name) })),
    { agentName: 'Claude Code', path: join(home, '.claude', 'settings.json') },
    { agentName: 'Claude Code', path: join(home, '.claude', 'settings.local.json') },
  ]
  const there = await Promise.all(
    candidates.map(({ path }) =>
      stat(path).then(
        (found) => found.isFile(),
        () => false,
      ),
    ),
  )
  return candidates.filter((_, i) => there[i])
}

/**
 * What one of `findImportSources` would bring.
 * @throws RpcError `notFound` for any other path, `invalidParams` when the file cannot be understood
 */
export async function previewImport(path: string, sources: readonly ImportSource[]): Promise<ImportPreview> {
  const source = sources.find((candidate) => candidate.path === path)
  if (!source) throw new RpcError('notFound', `path: ${path} is not among the files that rules can be imported from`)
  try {
    if ((await stat(path)).size > LARGEST_BYTES) throw new ImportError(`it is larger than ${LARGEST_BYTES} bytes`)
    const text = await readFile(path, 'utf8')
    if (source.agentName === 'Claude Code') return previewClaudeSettings(text)
    return path.endsWith('.rules') ? previewCodexRules(basename(path), text) : previewCodexConfig(text)
  } catch (error) {
    throw new RpcError('invalidParams', `path: ${path} cannot be imported: ${(error as Error).message}`, undefined, {
      cause: error,
    })
  }
}
