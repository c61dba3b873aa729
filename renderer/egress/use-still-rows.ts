/** Rows that do not move under the pointer: while held, new ones are counted instead of shown. */
import { useState } from 'react'
import type { ConnectionView } from '../../preload/api.ts'

export interface StillRows {
  rows: readonly ConnectionView[]
  /** New rows held back. */
  heldBack: number
}

/**
 * `key` names what is being looked at (filters and order): when it changes the rows are taken anew even
 * while held. A held list keeps its rows; their current state is looked up when they are drawn.
 */
export function useStillRows(latest: readonly ConnectionView[], key: string, held: boolean): StillRows {
  const [taken, setTaken] = useState({ key, rows: latest })
  const mayTake = !held || taken.key !== key
  if (mayTake && (taken.rows !== latest || taken.key !== key)) setTaken({ key, rows: latest })
  const rows = mayTake ? latest : taken.rows
  return { rows, heldBack: Math.max(0, latest.length - rows.length) }
}
