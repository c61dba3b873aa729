import { expect, test } from 'vitest'
import type { FeedBatch, FeedSnapshot, SettingsView } from '../../preload/api.ts'
import { followSettings } from './settings-follower.ts'

const settings: SettingsView = {
  theme: 'system',
  unknownHost: 'ask',
  agentGate: 'observe',
  notifications: true,
  globalShortcut: null,
}

test('a listener hears the settings in force at once and again whenever they change', () => {
  let send: (batch: FeedBatch) => void = () => {}
  const followed = followSettings({
    snapshot: () => ({ settings }) as FeedSnapshot,
    subscribe: (listener) => {
      send = listener
      return () => {}
    },
  })
  const heard: string[] = []
  followed.onChange(({ theme }) => heard.push(theme))
  send({ rev: 1, deltas: [{ table: 'notices', key: 'n', value: null }] })
  send({ rev: 2, deltas: [{ settings: { ...settings, theme: 'dark' } }] })
  expect(heard).toEqual(['system', 'dark'])
  expect(followed.current.theme).toBe('dark')
})
