/** J, K and the arrows move through the links of a list; Home and End go to its ends. */
import type { KeyboardEvent } from 'react'

export function moveThroughLinks(event: KeyboardEvent<HTMLElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const target = event.target as HTMLElement
  if (target.matches('input, textarea, select')) return
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('a[href]')]
  const at = links.indexOf(target.closest('a') as HTMLElement)
  const moves: Record<string, number> = {
    j: at + 1,
    ArrowDown: at + 1,
    k: at - 1,
    ArrowUp: at - 1,
    Home: 0,
    End: links.length - 1,
  }
  const next = moves[event.key]
  const link = next === undefined ? undefined : links[Math.max(0, Math.min(links.length - 1, next))]
  if (!link) return
  event.preventDefault()
  link.focus()
}
