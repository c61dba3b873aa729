/** Pages and search over the items of a server that has only a part of what ours has. */
import type { Turn } from '../../../protocol/app-server/thread.ts'
import { snippetOf, type FoundItem } from '../../rollout/search-items.ts'
import type { ItemPage } from './external-threads.ts'

/** As the window pages, so that the page of a place holds the place. */
const PAGE_ITEMS = 60
/** A longer session is searched up to here. */
const MAX_PAGES = 400

/** Every place of the words, oldest first. A place's cursor is that of the page it stands in; '' is the first. */
export async function findInPages(
  read: (page: { cursor?: string; limit: number; sortDirection: 'asc' }) => Promise<ItemPage>,
  term: string,
): Promise<{ data: FoundItem[]; isComplete: boolean }> {
  const data: FoundItem[] = []
  let cursor = ''
  for (let count = 0; count < MAX_PAGES; count++) {
    const page = await read({ limit: PAGE_ITEMS, sortDirection: 'asc', ...(cursor !== '' && { cursor }) })
    for (const { item } of page.data) {
      const snippet = snippetOf(item, term)
      if (snippet !== null) data.push({ itemId: item.id, cursor, snippet })
    }
    if (page.nextCursor === null) return { data, isComplete: true }
    cursor = page.nextCursor
  }
  return { data, isComplete: false }
}

/** A page of items cut from whole turns. Cursors are places in oldest-first order. */
export function pageOfTurns(turns: readonly Turn[], params: Record<string, unknown>): ItemPage {
  const all = turns.flatMap((turn) => turn.items.map((item) => ({ turnId: turn.id, item })))
  const isDown = params.sortDirection !== 'asc'
  const limit = typeof params.limit === 'number' ? params.limit : PAGE_ITEMS
  const at = typeof params.cursor === 'string' ? Number(params.cursor) : isDown ? all.length : -1
  const places = all.map((_, place) => place)
  const behind = isDown ? places.filter((place) => place < at).reverse() : places.filter((place) => place > at)
  const rows = behind.slice(0, limit)
  const first = rows[0]
  return {
    data: rows.map((place) => all[place]!),
    nextCursor: behind.length > limit ? String(rows.at(-1)) : null,
    backwardsCursor: first === undefined ? null : String(first + (isDown ? 0.5 : -0.5)),
  }
}
