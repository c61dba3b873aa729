/** Whether a hand is on a list, so that nothing in it may move. */
import { useState, type PointerEvent } from 'react'

export interface PointerHold {
  held: boolean
  release: () => void
  handlers: {
    onPointerMove: (event: PointerEvent) => void
    onPointerDown: () => void
    onPointerLeave: () => void
  }
}

/**
 * From the first real movement or press over the element until the pointer leaves it. A pointer that
 * merely rests where the page has just appeared holds nothing: nobody has aimed at anything yet.
 */
export function usePointerHold(): PointerHold {
  const [held, setHeld] = useState(false)
  return {
    held,
    release: () => setHeld(false),
    handlers: {
      onPointerMove: ({ movementX, movementY }) => {
        if (movementX !== 0 || movementY !== 0) setHeld(true)
      },
      onPointerDown: () => setHeld(true),
      onPointerLeave: () => setHeld(false),
    },
  }
}
