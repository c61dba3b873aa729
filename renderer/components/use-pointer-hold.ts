/** Whether a hand is on a list, so that nothing in it may move. */
import { useCallback, useEffect, useState, type PointerEvent } from 'react'

export interface PointerHold {
  held: boolean
  release: () => void
  handlers: {
    onPointerMove: (event: PointerEvent) => void
    onPointerDown: (event: PointerEvent) => void
    onPointerLeave: () => void
  }
}

/**
 * From the first real movement or press over the element until the pointer leaves it, or the hand goes to the
 * keyboard. A pointer that merely rests where the page has just appeared holds nothing: nobody has aimed at
 * anything yet.
 */
export function usePointerHold(): PointerHold {
  const [on, setOn] = useState<Element | null>(null)
  const release = useCallback(() => setOn(null), [])

  // Where what was pressed is gone by the time the pointer leaves, Chromium tells nobody that it left.
  useEffect(() => {
    if (!on) return
    const look = ({ target }: Event): void => {
      if (!(target instanceof Node) || !on.contains(target)) release()
    }
    document.addEventListener('pointermove', look)
    document.documentElement.addEventListener('pointerleave', release)
    document.addEventListener('keydown', release)
    return () => {
      document.removeEventListener('pointermove', look)
      document.documentElement.removeEventListener('pointerleave', release)
      document.removeEventListener('keydown', release)
    }
  }, [on, release])

  return {
    held: on !== null,
    release,
    handlers: {
      onPointerMove: ({ currentTarget, movementX, movementY }) => {
        if (movementX !== 0 || movementY !== 0) setOn(currentTarget)
      },
      onPointerDown: ({ currentTarget }) => setOn(currentTarget),
      onPointerLeave: release,
    },
  }
}
