import { homedir } from 'node:os'
import { join } from 'node:path'
import type { FilePolicy } from '../files/file-policy.ts'
import { parentOf, nameOf, childOf } from '../files/byte-path.ts'
import { isMissing } from '../files/folders.ts'
import { openForReading } from '../files/read-file.ts'
import { walk } from '../files/walk.ts'
import type { Reach } from '../files/place.ts'
import { formatPathUri, parsePathUri, pathOfText, type BytePath } from '../../protocol/path-uri.ts'

export interface SkillTool {
  type: string
  value: string
  description: string | null
  transport: string | null
  command: string | null
  url: string | null
  oauthCallbackPort: number | null
}
/** One skill as `capabilities/discoverV2` lists it. */
export interface Skill {
  name: string
  description: string
  shortDescription: string | null
  path: string
  discoveryRoot: { id: string; path: string }
  dependencies: { tools: SkillTool[] } | null
  policy: { allowImplicitInvocation: boolean | null; products: string[] } | null
}
export interface SkillRoot {
  id: string
  path: string
}
export interface Discovery {
  plugins: never[]
  skills: Skill[]
  warnings: string[]
}

/** Deep enough for collections of skills, shallow enough for a home directory linked in by mistake. */
const LIMITS = { maxDepth: 6, maxDirectories: 2000, maxEntries: 20_000 }
/** Front matter is short; what stands below it is not read here. */
const MAX_METADATA_BYTES = 64 * 1024
const WARNING = 'some capability metadata could not be loaded; discovery may be incomplete'

/** Where skills of this account live: in the Codex home, and in the place that agents share. */
export function defaultSkillRoots(codexHome: string): SkillRoot[] {
  return [
    { id: 'codex-home-skills', path: join(codexHome, 'skills') },
    { id: 'user-agent-skills', path: join(homedir(), '.agents', 'skills') },
  ]
}

/** Finds every `SKILL.md` below the roots. What cannot be read is left out and warned about. */
export async function discoverSkills(roots: SkillRoot[], policy: FilePolicy | null): Promise<Discovery> {
  const reach: Reach = { policy, followSymlinks: true }
  const skills: Skill[] = []
  let isIncomplete = false
  for (const root of roots) {
    const files = await findSkillFiles(pathOfText(root.path), reach).catch((error: unknown) => {
      isIncomplete ||= !isMissing(error)
      return []
    })
    for (const file of files)
      try {
        skills.push(await readSkill(file, root, reach))
      } catch {
        isIncomplete = true
      }
  }
  return { plugins: [], skills, warnings: isIncomplete ? [WARNING] : [] }
}

async function findSkillFiles(root: BytePath, reach: Reach): Promise<BytePath[]> {
  const options = { ...LIMITS, followDirectorySymlinks: true, pruneHiddenDirectories: true }
  const { entries } = await walk(root, options, reach)
  return entries
    .filter(({ kind, path }) => kind === 'file' && path.endsWith('/SKILL.md'))
    .map(({ path }) => parsePathUri(path))
    .sort()
}

async function readSkill(file: BytePath, root: SkillRoot, reach: Reach): Promise<Skill> {
  const { parse } = await import('yaml')
  const front = /^---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/.exec(await readStart(file, reach))
  if (!front) throw new Error('no front matter')
  const header = asObject(parse(front[1] as string, { maxAliasCount: 20 }))
  const description = asText(header.description)
  if (description === null) throw new Error('no description')
  const folder = parentOf(file)
  const extra = await readExtra(childOf(folder, 'agents/openai.yaml'), reach)
  return {
    name: asText(header.name) ?? Buffer.from(nameOf(folder), 'latin1').toString('utf8'),
    description,
    shortDescription: asText(asObject(header.metadata)['short-description']),
    path: formatPathUri(file),
    discoveryRoot: { id: root.id, path: formatPathUri(pathOfText(root.path)) },
    dependencies: dependenciesOf(extra),
    policy: policyOf(extra),
  }
}

/** The optional file beside a skill that says what it needs and when it may run. */
async function readExtra(path: BytePath, reach: Reach): Promise<Record<string, unknown>> {
  const { parse } = await import('yaml')
  try {
    return asObject(parse(await readStart(path, reach), { maxAliasCount: 20 }))
  } catch (error) {
    if (isMissing(error)) return {}
    throw error
  }
}

async function readStart(path: BytePath, reach: Reach): Promise<string> {
  const file = await openForReading(path, reach)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_METADATA_BYTES), 0, MAX_METADATA_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

function dependenciesOf(extra: Record<string, unknown>): Skill['dependencies'] {
  const { tools } = asObject(extra.dependencies)
  if (!Array.isArray(tools)) return null
  return {
    tools: tools.map(asObject).map((tool) => ({
      type: asText(tool.type) ?? '',
      value: asText(tool.value) ?? '',
      description: asText(tool.description),
      transport: asText(tool.transport),
      command: asText(tool.command),
      url: asText(tool.url),
      oauthCallbackPort: typeof tool.oauth_callback_port === 'number' ? tool.oauth_callback_port : null,
    })),
  }
}

function policyOf(extra: Record<string, unknown>): Skill['policy'] {
  if (extra.policy === undefined || extra.policy === null) return null
  const { allow_implicit_invocation: implicit, products } = asObject(extra.policy)
  return {
    allowImplicitInvocation: typeof implicit === 'boolean' ? implicit : null,
    products: Array.isArray(products) ? products.filter((p) => typeof p === 'string') : [],
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

const asText = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
