/** The parts of the window that F6 steps through, in the order of the document. */

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex="0"]'

/**
 * Focuses the next (1) or previous (-1) visible region: where focus last was in it, else its first
 * control. `memory` remembers the last focus of each region by its name.
 */
export function focusRegion(step: 1 | -1, memory: Map<string, HTMLElement>): void {
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')].filter(isVisible)
  if (regions.length === 0) return
  const active = document.activeElement
  const current = active?.closest<HTMLElement>('[data-region]') ?? null
  if (current && active instanceof HTMLElement) memory.set(current.dataset['region'] ?? '', active)
  const at = current ? regions.indexOf(current) : step === 1 ? -1 : 0
  const next = regions[(at + step + regions.length) % regions.length]
  if (!next) return
  const remembered = memory.get(next.dataset['region'] ?? '')
  if (remembered?.isConnected && next.contains(remembered)) return remembered.focus()
  const first = [...next.querySelectorAll<HTMLElement>(FOCUSABLE)].find(isVisible)
  ;(first ?? next).focus()
}

/** Focuses what the page is about: its table or list, else the page itself. */
export function focusPage(): void {
  const page = document.querySelector<HTMLElement>('main')
  const list = page?.querySelector<HTMLElement>('[role="grid"], [data-region="list"] a[href]')
  ;(list && isVisible(list) ? list : page)?.focus()
}

function isVisible(element: HTMLElement): boolean {
  return element.checkVisibility?.() ?? true
}
