/** Settings: searchable, each with its key in the file; those that open something say what. */
import { useState, type ReactNode } from 'react'
import type { SettingsView } from '../../preload/api.ts'
import { PageBody, PageHead } from '../components/page.tsx'
import { RadioChoices } from '../components/radio-choices.tsx'
import { SearchField } from '../components/search-field.tsx'
import { EmptyState, ErrorNote } from '../components/states.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import { ProviderSettings } from './provider-settings.tsx'
import { SessionServerSettings } from './session-server-settings.tsx'
import { ShortcutField } from './shortcut-field.tsx'
import './settings-page.css'

interface Choice<V extends string> {
  value: V
  words: string
  /** What this choice opens, when it opens something. */
  opens?: string
}

type ChoiceKey = 'theme' | 'unknownHost' | 'agentGate' | 'networkMode'

interface ChoiceSetting<K extends ChoiceKey> {
  key: K
  title: string
  explains: string
  choices: readonly Choice<NonNullable<SettingsView[K]>>[]
}

const CHOICES: readonly { [K in ChoiceKey]: ChoiceSetting<K> }[ChoiceKey][] = [
  {
    key: 'agentGate',
    title: 'Agents that bring their own approvals',
    explains: 'What happens to a command from an agent attached to the exec server, such as the Codex CLI.',
    choices: [
      {
        value: 'observe',
        words: 'Run and record',
        opens: 'Commands of such agents run without asking you here. Only deny rules stop them.',
      },
      { value: 'ask', words: 'Rules, then ask you' },
      { value: 'enforce', words: 'Rules only: what no rule allows is refused' },
    ],
  },
  {
    key: 'unknownHost',
    title: 'Hosts that no rule names',
    explains: 'What happens to a connection to a host without a rule.',
    choices: [
      { value: 'ask', words: 'Hold the connection and ask you' },
      { value: 'block', words: 'Refuse it at once' },
    ],
  },
  {
    key: 'networkMode',
    title: 'What allowed hosts get',
    explains: 'Everything, or only requests that read. The Network page has this switch too, and the one for HTTPS.',
    choices: [
      { value: 'full', words: 'Everything' },
      { value: 'limited', words: 'Only GET, HEAD and OPTIONS; HTTPS is opened at the proxy to tell' },
    ],
  },
  {
    key: 'theme',
    title: 'Theme',
    explains: 'Colours of this window.',
    choices: [
      { value: 'system', words: 'As the desktop' },
      { value: 'dark', words: 'Dark' },
      { value: 'light', words: 'Light' },
      { value: 'high-contrast', words: 'High contrast' },
    ],
  },
]

const OTHERS = {
  notifications: {
    title: 'Notifications',
    explains: 'Tell you when something waits for you and the window is not in front. Never for anything else.',
  },
  globalShortcut: {
    title: 'Global shortcut',
    explains: 'A key that brings the next waiting request to the front from any program. Off until you set one.',
  },
} as const

export function SettingsPage(): ReactNode {
  const invoke = useInvoke()
  const settings = useFeed((state) => state.settings)
  const host = useFeed((state) => state.host)
  const [query, setQuery] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const wanted = query.trim().toLowerCase()
  const matches = (...texts: string[]): boolean =>
    wanted === '' || texts.some((text) => text.toLowerCase().includes(wanted))

  const set = (change: Partial<SettingsView>): void => {
    void invoke('settings.set', change).then((outcome) => setFailure(outcome.ok ? null : outcome.message))
  }
  const choices = CHOICES.filter((setting) =>
    matches(setting.key, setting.title, setting.explains, ...setting.choices.map((choice) => choice.words)),
  )
  const showsNotifications = matches('notifications', ...Object.values(OTHERS.notifications))
  const showsServer = matches('externalAppServer', 'Server of your sessions', 'app server', 'codex')
  const showsProviders = matches('model providers', 'config.toml', 'Add a provider', 'Test connection')
  const showsShortcut = matches('globalShortcut', ...Object.values(OTHERS.globalShortcut))

  return (
    <>
      <PageHead title="Settings">
        <SearchField label="Search settings" value={query} onChange={setQuery} />
      </PageHead>
      <PageBody>
        {failure && <ErrorNote message={`The setting was not changed. ${failure}`} />}
        {choices.map((setting) => (
          <fieldset key={setting.key} className="setting">
            <legend>{setting.title}</legend>
            <SettingNote explains={setting.explains} settingKey={setting.key} />
            <RadioChoices
              name={setting.key}
              choices={setting.choices}
              value={settings[setting.key] ?? setting.choices[0]?.value}
              onChoose={(value) => set({ [setting.key]: value })}
            />
          </fieldset>
        ))}
        {showsNotifications && (
          <fieldset className="setting">
            <legend>{OTHERS.notifications.title}</legend>
            <SettingNote explains={OTHERS.notifications.explains} settingKey="notifications" />
            <label className="radio">
              <input
                type="checkbox"
                checked={settings.notifications}
                onChange={(event) => set({ notifications: event.target.checked })}
              />
              <span>Notify me</span>
            </label>
          </fieldset>
        )}
        {showsShortcut && (
          <fieldset className="setting">
            <legend>{OTHERS.globalShortcut.title}</legend>
            <SettingNote explains={OTHERS.globalShortcut.explains} settingKey="globalShortcut" />
            <ShortcutField value={settings.globalShortcut} onChange={(globalShortcut) => set({ globalShortcut })} />
          </fieldset>
        )}
        {showsServer && <SessionServerSettings />}
        {showsProviders && <ProviderSettings />}
        {choices.length === 0 && !showsServer && !showsProviders && !showsNotifications && !showsShortcut && (
          <EmptyState title="No setting matches." />
        )}
        {host && (
          <p className="meta">
            Gatehouse {host.version} · kept in <span className="code">{host.dataDir}/settings.json</span>
          </p>
        )}
      </PageBody>
    </>
  )
}

function SettingNote({ explains, settingKey }: { explains: string; settingKey: string }): ReactNode {
  return (
    <p className="dim">
      {explains} <code className="setting-key">{settingKey}</code>
    </p>
  )
}
