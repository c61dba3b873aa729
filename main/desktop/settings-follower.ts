import type { SettingsView } from '../../preload/api.ts'
import type { FeedSource } from './pending-approvals.ts'

export interface FollowedSettings {
  readonly current: SettingsView
  /** Calls `listener` now and at each change, for the life of the app. */
  onChange(listener: (settings: SettingsView) => void): void
}

/** The settings in force, as the feed tells them. */
export function followSettings(feed: FeedSource): FollowedSettings {
  let { settings } = feed.snapshot()
  const listeners: ((settings: SettingsView) => void)[] = []
  feed.subscribe(({ deltas }) => {
    for (const delta of deltas) if ('settings' in delta) settings = delta.settings
    if (deltas.some((delta) => 'settings' in delta)) for (const listener of listeners) listener(settings)
  })
  return {
    get current() {
      return settings
    },
    onChange(listener) {
      listeners.push(listener)
      listener(settings)
    },
  }
}
