/** Which of the three token sets is shown: the owner's choice, or what the desktop prefers. */
import { useEffect, useSyncExternalStore } from 'react'
import type { SettingsView } from '../../preload/api.ts'
import { useFeed } from '../feed/feed-context.tsx'

export type Theme = 'dark' | 'light' | 'high-contrast'

export interface DesktopPreference {
  light: boolean
  moreContrast: boolean
}

export function resolveTheme(chosen: SettingsView['theme'], desktop: DesktopPreference): Theme {
  if (chosen !== 'system') return chosen
  if (desktop.moreContrast) return 'high-contrast'
  return desktop.light ? 'light' : 'dark'
}

const LIGHT = '(prefers-color-scheme: light)'
const MORE_CONTRAST = '(prefers-contrast: more)'

const subscribe = (listener: () => void): (() => void) => {
  const queries = [matchMedia(LIGHT), matchMedia(MORE_CONTRAST)]
  for (const query of queries) query.addEventListener('change', listener)
  return () => {
    for (const query of queries) query.removeEventListener('change', listener)
  }
}

/** Keeps `data-theme` of the document right; returns the theme for what draws its own colours (terminals). */
export function useTheme(): Theme {
  const chosen = useFeed((state) => state.settings.theme)
  const light = useSyncExternalStore(subscribe, () => matchMedia(LIGHT).matches)
  const moreContrast = useSyncExternalStore(subscribe, () => matchMedia(MORE_CONTRAST).matches)
  const theme = resolveTheme(chosen, { light, moreContrast })
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
  }, [theme])
  return theme
}
