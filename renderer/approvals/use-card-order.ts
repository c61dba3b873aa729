/** The shown order of the cards, held still while a hand is on them. */
import { useCallback, useEffect, useState } from 'react'
import type { ApprovalView } from '../../preload/api.ts'
import { groupBySession, orderCards, type CardGroup } from './card-order.ts'
import { usePointerHold, type PointerHold } from '../components/use-pointer-hold.ts'
import { INERT_MS } from './use-inert.ts'

export interface CardOrder {
  groups: readonly CardGroup[]
  /** For the element around the cards. */
  pointerHandlers: PointerHold['handlers']
  onBusy: (requestId: string, busy: boolean) => void
}

export function useCardOrder(pending: readonly ApprovalView[]): CardOrder {
  const hand = usePointerHold()
  const [busyIds, setBusyIds] = useState<ReadonlySet<string>>(new Set())
  const justFocused = useJustFocused()
  const [groups, setGroups] = useState<readonly CardGroup[]>(() => groupBySession(pending))

  const frozen = hand.held || busyIds.size > 0 || justFocused
  const next = orderCards(pending, groups, frozen)
  // Derived from the last order: set while rendering, so that no frame shows the old one.
  if (next !== groups) setGroups(next)

  const onBusy = useCallback((requestId: string, busy: boolean) => {
    setBusyIds((ids) => {
      if (ids.has(requestId) === busy) return ids
      const changed = new Set(ids)
      if (busy) changed.add(requestId)
      else changed.delete(requestId)
      return changed
    })
  }, [])

  return {
    groups: next,
    onBusy,
    pointerHandlers: hand.handlers,
  }
}

/** True for a moment after the window gains focus: the click that brought it forward is still on its way. */
function useJustFocused(): boolean {
  const [just, setJust] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    const onFocus = (): void => {
      clearTimeout(timer)
      setJust(true)
      timer = setTimeout(() => setJust(false), INERT_MS)
    }
    window.addEventListener('focus', onFocus)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('focus', onFocus)
    }
  }, [])
  return just
}
