/** Actions that are there on every page. */
import { useMemo, useRef } from 'react'
import { useHostLink, useInvoke } from '../feed/feed-context.tsx'
import { useActions, type Action } from '../components/actions.tsx'
import { go, place, placeHref, SECTION_NAMES, SECTIONS, type Place } from '../components/places.ts'
import { SIDECAR_ORDER, SIDECAR_TITLES } from '../components/sidecar-names.ts'
import { focusNeighbour } from '../approvals/request-stack.tsx'
import { selectPending } from '../approvals/selectors.ts'
import { focusPage, focusRegion } from './regions.ts'

/** Goes there by keyboard: focus follows once the page is drawn. */
function goAndFocus(target: Place): void {
  if (window.location.hash === placeHref(target)) return focusPage()
  window.addEventListener('hashchange', () => setTimeout(focusPage, 0), { once: true })
  go(target)
}

export interface AppActionHandlers {
  openPalette: () => void
  openKeyHelp: () => void
}

export function useAppActions({ openPalette, openKeyHelp }: AppActionHandlers): void {
  const invoke = useInvoke()
  const { store, resubscribe } = useHostLink()
  const regionMemory = useRef(new Map<string, HTMLElement>())

  const actions = useMemo((): Action[] => {
    const toRequest = (step: 1 | -1): void => {
      if (focusNeighbour(document, step)) return
      const pending = selectPending(store.getState())
      const request = step === 1 ? pending[0] : pending.at(-1)
      go(place('inbox', request?.id ?? null))
    }
    return [
      { id: 'palette', title: 'Find anything', chord: 'Mod+K', hidden: true, run: openPalette },
      ...SECTIONS.map((section, index) => ({
        id: `section-${section}`,
        title: `Open ${SECTION_NAMES[section]}`,
        chord: `Mod+${index + 1}`,
        run: () => goAndFocus(place(section)),
      })),
      { id: 'next-request', title: 'Go to the next request', chord: 'F8', run: () => toRequest(1) },
      { id: 'previous-request', title: 'Go to the previous request', chord: 'Shift+F8', run: () => toRequest(-1) },
      {
        id: 'next-region',
        title: 'Go to the next part of the window',
        chord: 'F6',
        hidden: true,
        run: () => focusRegion(1, regionMemory.current),
      },
      {
        id: 'previous-region',
        title: 'Go to the previous part of the window',
        chord: 'Shift+F6',
        hidden: true,
        run: () => focusRegion(-1, regionMemory.current),
      },
      { id: 'keys', title: 'Show all keys', chord: 'F1', run: openKeyHelp },
      ...SIDECAR_ORDER.map((name) => ({
        id: `restart-${name}`,
        title: `Restart the ${SIDECAR_TITLES[name]}`,
        run: () => void invoke('sidecars.restart', name),
      })),
      ...(['system', 'dark', 'light', 'high-contrast'] as const).map((theme) => ({
        id: `theme-${theme}`,
        title: `Theme: ${theme === 'system' ? 'as the desktop' : theme.replace('-', ' ')}`,
        run: () => void invoke('settings.set', { theme }),
      })),
      { id: 'refresh', title: 'Read everything again from the host', run: resubscribe },
    ]
  }, [invoke, openKeyHelp, openPalette, resubscribe, store])
  useActions(actions)
}
