/**
 * Where the window is: a section, what is open in it, and what it is narrowed to. The address bar's
 * hash is the truth, so that links are links, Back works, and a reload comes back to the same place.
 */
import { useSyncExternalStore } from 'react'

export const SECTIONS = ['inbox', 'sessions', 'processes', 'network', 'agents', 'rules', 'settings'] as const
export type Section = (typeof SECTIONS)[number]

export const SECTION_NAMES: Record<Section, string> = {
  inbox: 'Inbox',
  sessions: 'Sessions',
  processes: 'Processes',
  network: 'Network',
  agents: 'Agents',
  rules: 'Rules',
  settings: 'Settings',
}

export interface Narrowing {
  by: 'session' | 'process' | 'host'
  value: string
}

export interface Place {
  section: Section
  id: string | null
  narrowing: Narrowing | null
}

export function place(section: Section, id: string | null = null, narrowing: Narrowing | null = null): Place {
  return { section, id, narrowing }
}

export function placeHref({ section, id, narrowing }: Place): string {
  const path = id === null ? `#/${section}` : `#/${section}/${encodeURIComponent(id)}`
  return narrowing ? `${path}?${narrowing.by}=${encodeURIComponent(narrowing.value)}` : path
}

/** Anything that is not an address of ours leads to the Inbox. */
export function parsePlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [name = '', id] = path.split('/', 2)
  const section = SECTIONS.find((known) => known === name)
  if (!section) return place('inbox')
  return place(section, id ? decode(id) : null, parseNarrowing(query))
}

function parseNarrowing(query: string): Narrowing | null {
  const [by, value] = query.split('=', 2)
  if (value === undefined || (by !== 'session' && by !== 'process' && by !== 'host')) return null
  return { by, value: decode(value) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Goes there, with a step in the history unless it `replaces` the place where one is. */
export function go(target: Place, { replaces = false } = {}): void {
  if (replaces) window.location.replace(placeHref(target))
  else window.location.hash = placeHref(target)
}

const subscribe = (listener: () => void): (() => void) => {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}

let last: { hash: string; place: Place } | undefined

function currentPlace(): Place {
  const { hash } = window.location
  if (last?.hash !== hash) last = { hash, place: parsePlace(hash) }
  return last.place
}

export function usePlace(): Place {
  return useSyncExternalStore(subscribe, currentPlace)
}
