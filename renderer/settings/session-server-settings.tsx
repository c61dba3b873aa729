/** Where the window's sessions live: with Gatehouse itself, or with an app server that is not ours. */
import { useState, type ReactNode } from 'react'
import type { ExternalAppServerView } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { RadioChoices } from '../components/radio-choices.tsx'
import { ErrorNote } from '../components/states.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import { ServerLine } from '../sessions/server/server-line.tsx'

type Kind = 'own' | 'address' | 'command'

const KINDS: readonly { value: Kind; words: string; opens?: string }[] = [
  { value: 'own', words: 'Gatehouse itself' },
  {
    value: 'address',
    words: 'A running app server, such as codex app-server --listen ws://127.0.0.1:4500',
    opens: 'Its commands run where it runs, outside of Gatehouse’s gate; only what it asks comes to the Inbox.',
  },
  {
    value: 'command',
    words: 'A command that is one, such as codex app-server',
    opens: 'Gatehouse starts it with your rights. Its commands run outside of Gatehouse’s gate.',
  },
]

const kindOf = (server: ExternalAppServerView | null): Kind =>
  server === null ? 'own' : server.command ? 'command' : 'address'

export function SessionServerSettings(): ReactNode {
  const invoke = useInvoke()
  const server = useFeed((state) => state.settings.externalAppServer ?? null)
  const [kind, setKind] = useState<Kind>(kindOf(server))
  const [url, setUrl] = useState(server?.url ?? 'ws://127.0.0.1:4500')
  const [tokenFile, setTokenFile] = useState(server?.tokenFile ?? '')
  const [command, setCommand] = useState(server?.command?.join(' ') ?? 'codex app-server')
  const [failure, setFailure] = useState<string | null>(null)

  const wanted = (): ExternalAppServerView | null => {
    if (kind === 'own') return null
    if (kind === 'command') return { command: command.trim().split(/\s+/).filter(Boolean) }
    return { url: url.trim(), ...(tokenFile.trim() !== '' && { tokenFile: tokenFile.trim() }) }
  }
  const isChanged = JSON.stringify(wanted()) !== JSON.stringify(server)
  const use = (): void => {
    void invoke('settings.set', { externalAppServer: wanted() }).then((outcome) =>
      setFailure(outcome.ok ? null : outcome.message),
    )
  }
  return (
    <fieldset className="setting">
      <legend>Server of your sessions</legend>
      <p className="dim">
        Which app server the Sessions page works with. <code className="setting-key">externalAppServer</code>
      </p>
      <RadioChoices name="sessionServer" choices={KINDS} value={kind} onChoose={setKind} />
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault()
          use()
        }}
      >
        {kind === 'address' && (
          <>
            <Text label="Address" value={url} onChange={setUrl} />
            <Text label="File with its token (none when it wants none)" value={tokenFile} onChange={setTokenFile} />
          </>
        )}
        {kind === 'command' && <Text label="Command" value={command} onChange={setCommand} />}
        {failure && <ErrorNote message={`The server was not changed. ${failure}`} />}
        <div className="dialog-actions">
          <Button inert={!isChanged} onClick={use}>
            Use this server
          </Button>
        </div>
      </form>
      <ServerLine inSettings />
    </fieldset>
  )
}

function Text(props: { label: string; value: string; onChange: (value: string) => void }): ReactNode {
  return (
    <label>
      {props.label}
      <input
        className="field code"
        value={props.value}
        spellCheck={false}
        onChange={({ target }) => props.onChange(target.value)}
      />
    </label>
  )
}
