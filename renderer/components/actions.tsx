/**
 * What can be done right now. A component that is in view offers its actions; the key map and the
 * palette find them here, so every action has one definition, one name and at most one chord.
 */
import { createContext, useContext, useEffect, useMemo, useRef, type ReactNode } from 'react'
import { matchesChord } from './key-chords.ts'

export interface Action {
  id: string
  /** A verb and its object: "Interrupt npm test". */
  title: string
  chord?: string
  /** Left out of the palette, as for the palette itself. */
  hidden?: boolean
  run: () => void
}

export class ActionRegistry {
  private readonly offers = new Set<() => readonly Action[]>()

  /** `current` is read at the moment of use. Returns the withdrawal. */
  offer(current: () => readonly Action[]): () => void {
    this.offers.add(current)
    return () => void this.offers.delete(current)
  }

  /** Of actions with the same id only the latest offer counts. */
  list(): Action[] {
    const byId = new Map<string, Action>()
    for (const current of this.offers) for (const action of current()) byId.set(action.id, action)
    return [...byId.values()]
  }

  /** Runs the action of a chord. Later offers win over earlier ones. */
  dispatch(event: KeyboardEvent): boolean {
    const action = this.list().findLast((candidate) => candidate.chord && matchesChord(event, candidate.chord))
    if (!action) return false
    event.preventDefault()
    event.stopPropagation()
    // A held key must not run through everything that waits.
    if (!event.repeat) action.run()
    return true
  }
}

const ActionsContext = createContext(new ActionRegistry())

/** Listens in the capture phase: a terminal would otherwise swallow the chords. */
export function ActionsProvider({ registry, children }: { registry?: ActionRegistry; children: ReactNode }): ReactNode {
  const own = useMemo(() => registry ?? new ActionRegistry(), [registry])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      // What lies behind an open dialog is out of reach, for keys as for the pointer.
      if (!document.querySelector('dialog[open]')) own.dispatch(event)
    }
    window.addEventListener('keydown', onKeyDown, true)
    return () => window.removeEventListener('keydown', onKeyDown, true)
  }, [own])
  return <ActionsContext value={own}>{children}</ActionsContext>
}

export function useActionRegistry(): ActionRegistry {
  return useContext(ActionsContext)
}

/** Offers `actions` for as long as the component is mounted. */
export function useActions(actions: readonly Action[]): void {
  const registry = useActionRegistry()
  const latest = useRef(actions)
  useEffect(() => {
    latest.current = actions
  })
  useEffect(() => registry.offer(() => latest.current), [registry])
}
