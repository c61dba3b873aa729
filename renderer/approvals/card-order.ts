/**
 * The order of the cards. Oldest first, requests of one session together; but nothing moves while a
 * hand is on it: a card must never slide under a click that was meant for another one.
 */
import type { ApprovalView } from '../../preload/api.ts'

/** Cards of one session that stand together under one header. */
export interface CardGroup {
  sessionId: string
  requestIds: string[]
}

/** Groups in order of their oldest request. `pending` is oldest first. */
export function groupBySession(pending: readonly ApprovalView[]): CardGroup[] {
  const groups = new Map<string, CardGroup>()
  for (const { id, sessionId } of pending) {
    const group = groups.get(sessionId)
    if (group) group.requestIds.push(id)
    else groups.set(sessionId, { sessionId, requestIds: [id] })
  }
  return [...groups.values()]
}

/**
 * The order to show. Frozen, every card of `shown` keeps its place even when its request is over, and
 * new requests go to the end (under a second header if need be). Otherwise the natural order.
 */
export function orderCards(
  pending: readonly ApprovalView[],
  shown: readonly CardGroup[],
  frozen: boolean,
): readonly CardGroup[] {
  if (!frozen) {
    const natural = groupBySession(pending)
    return sameGroups(natural, shown) ? shown : natural
  }
  const known = new Set(shown.flatMap((group) => group.requestIds))
  const added = pending.filter((request) => !known.has(request.id))
  if (added.length === 0) return shown
  const next = shown.map((group) => ({ ...group, requestIds: [...group.requestIds] }))
  for (const { id, sessionId } of added) {
    const last = next.at(-1)
    if (last?.sessionId === sessionId) last.requestIds.push(id)
    else next.push({ sessionId, requestIds: [id] })
  }
  return next
}

/** The first `limit` cards in their groups, and the one with `alsoId` wherever it stands. */
export function firstCards(groups: readonly CardGroup[], limit: number, alsoId: string | null): readonly CardGroup[] {
  let at = 0
  const first = groups.map((group) => ({
    ...group,
    requestIds: group.requestIds.filter((id) => at++ < limit || id === alsoId),
  }))
  return at <= limit ? groups : first.filter(({ requestIds }) => requestIds.length > 0)
}

export function countCards(groups: readonly CardGroup[]): number {
  return groups.reduce((sum, { requestIds }) => sum + requestIds.length, 0)
}

function sameGroups(a: readonly CardGroup[], b: readonly CardGroup[]): boolean {
  return (
    a.length === b.length &&
    a.every((group, i) => {
      const other = b[i]
      return (
        other?.sessionId === group.sessionId &&
        other.requestIds.length === group.requestIds.length &&
        group.requestIds.every((id, j) => other.requestIds[j] === id)
      )
    })
  )
}
