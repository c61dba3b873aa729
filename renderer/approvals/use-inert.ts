/** The moment in which a click or chord was meant for something else. */
import { useEffect, useState } from 'react'

/** A press already on its way when a card appears takes about this long to land. */
export const INERT_MS = 400

/** True for `INERT_MS` after the component appears and after the window gains focus. */
export function useInert(): boolean {
  const [inert, setInert] = useState(true)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    const hold = (): void => {
      clearTimeout(timer)
      setInert(true)
      timer = setTimeout(() => setInert(false), INERT_MS)
    }
    hold()
    window.addEventListener('focus', hold)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('focus', hold)
    }
  }, [])
  return inert
}
