/** Which threads a list wants, as conditions of SQL. */
import type { ThreadSource } from '../../protocol/app-server/thread.ts'
import { marks } from './index-database.ts'
import type { SqlValue } from './sqlite.ts'
import { agentOf } from './stored-thread.ts'

export type ThreadSort = 'created_at' | 'updated_at' | 'recency_at'
export interface ThreadQuery {
  archived: boolean
  sort: ThreadSort
  descending: boolean
  limit: number
  /** Rows strictly behind this one in the order asked for. */
  after: { atMs: number; id: string } | null
  modelProviders: readonly string[] | null
  sources: readonly string[] | null
  cwds: readonly string[] | null
  searchTerm: string | null
  /** Children of this thread. */
  parentId: string | null
  /** Children of this thread, and theirs. */
  ancestorId: string | null
  originators: readonly string[] | null
  projectId: string | null
  includedIds: readonly string[] | null
  excludedIds: readonly string[] | null
}

/** Ids of all threads below one. */
export const DESCENDANTS =
  'with recursive below (id) as (select id from threads where parent_id = ? union select t.id from threads t join below on t.parent_id = below.id) select id from below'
/** Of the threads table, with their values in order. */
export function conditions(query: ThreadQuery): { where: string[]; values: SqlValue[] } {
  const where = ['archived = ?']
  const values: SqlValue[] = [query.archived ? 1 : 0]
  const among = (column: string, list: readonly string[] | null, not = '') => {
    if (list === null) return
    where.push(`${column} ${not} in (${marks(list)})`)
    values.push(...list)
  }
  among('model_provider', query.modelProviders)
  among('source', query.sources && query.sources.flatMap(kindsOf))
  among('cwd', query.cwds)
  among(`json_extract(thread, '$.originator')`, query.originators)
  among('id', query.includedIds)
  among('id', query.excludedIds, 'not')
  if (query.parentId !== null) {
    where.push('parent_id = ?')
    values.push(query.parentId)
  }
  if (query.projectId !== null) {
    where.push(`json_extract(thread, '$.projectId') = ?`)
    values.push(query.projectId)
  }
  if (query.ancestorId !== null) {
    where.push(`id in (${DESCENDANTS})`)
    values.push(query.ancestorId)
  }
  const words = searchable(query.searchTerm ?? '').trim()
  if (words !== '') {
    where.push('instr(words, ?) > 0')
    values.push(words)
  }
  if (query.after) {
    const column = query.sort === 'created_at' ? 'created_at' : 'updated_at'
    where.push(`(${column}, id) ${query.descending ? '<' : '>'} (?, ?)`)
    values.push(query.after.atMs, query.after.id)
  }
  return { where, values }
}

const AGENT_KINDS = ['subAgentThreadSpawn', 'subAgentReview', 'subAgentCompact', 'subAgentOther']

/** The kinds that a filter's word means. */
const kindsOf = (word: string): string[] => (word === 'subAgent' ? AGENT_KINDS : [word])

/** The word a filter compares: custom and sub-agent sources count as their kind. */
export function sourceKind(source: ThreadSource): string {
  if (typeof source === 'string') return source
  if ('custom' in source) return 'custom'
  if (agentOf(source)) return 'subAgentThreadSpawn'
  if (source.subAgent === 'review') return 'subAgentReview'
  return source.subAgent === 'compact' ? 'subAgentCompact' : 'subAgentOther'
}

/** Upper and lower case are one to a search, in any script; so are the ways to compose a letter. */
export function searchable(text: string): string {
  return text.normalize('NFC').toLowerCase()
}
