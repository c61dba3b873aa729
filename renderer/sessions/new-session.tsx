/** Starts a session of Gatehouse's own: folder, first words, model, and what it may do unasked. */
import { useState, type FormEvent, type ReactNode } from 'react'
import { sessionOfThread } from '../../sidecars/protocol/ids.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { go, place, placeHref } from '../components/places.ts'
import { RadioChoices } from '../components/radio-choices.tsx'
import { ErrorNote } from '../components/states.tsx'
import { useThreadCall } from '../feed/feed-context.tsx'
import { useSessionServer } from './server/use-session-server.ts'
import { useProviders } from './thread/use-providers.ts'

const SANDBOXES = [
  { value: 'read-only', words: 'Read only: asks before it writes anything' },
  { value: 'workspace-write', words: 'Write in the folder: asks before anything else' },
  { value: 'danger-full-access', words: 'Your full rights: rules and the Inbox hold it back, no sandbox does' },
] as const

export interface NewSessionProps {
  initialFolder: string
  onClose: () => void
}

export function NewSession({ initialFolder, onClose }: NewSessionProps): ReactNode {
  const call = useThreadCall()
  const { providers } = useProviders()
  // Another server has a configuration of its own.
  const isOwn = useSessionServer()?.kind !== 'external'
  const [cwd, setCwd] = useState(initialFolder)
  const [words, setWords] = useState('')
  const [provider, setProvider] = useState('')
  const [model, setModel] = useState('')
  const [sandbox, setSandbox] = useState<string>('workspace-write')
  const [failure, setFailure] = useState<string | null>(null)
  const [isStarting, setStarting] = useState(false)

  const start = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault()
    if (isStarting) return
    if (!cwd.startsWith('/')) return setFailure('Folder: give the whole path, such as /home/you/project.')
    setStarting(true)
    const started = await call('thread/start', {
      cwd,
      sandbox,
      ...(provider !== '' && { modelProvider: provider }),
      ...(model.trim() !== '' && { model: model.trim() }),
    })
    if (!started.ok) {
      setStarting(false)
      return setFailure(started.message)
    }
    const threadId = started.value.thread.id
    // Its words are in the session from here on: what goes wrong with the turn is shown there.
    if (words.trim() !== '') await call('turn/start', { threadId, input: [{ type: 'text', text: words.trim() }] })
    onClose()
    go(place('sessions', sessionOfThread(threadId)))
  }

  return (
    <Dialog title="New session" onClose={onClose}>
      <form className="dialog-form" onSubmit={(event) => void start(event)}>
        {isOwn && providers?.chosen === null && <NoProvider />}
        <label>
          Folder
          <input
            className="field code"
            value={cwd}
            spellCheck={false}
            onChange={(event) => setCwd(event.target.value)}
          />
        </label>
        <label>
          First words
          <textarea className="field" rows={4} value={words} onChange={(event) => setWords(event.target.value)} />
        </label>
        {isOwn && (
          <label>
            Model provider
            <select className="field" value={provider} onChange={(event) => setProvider(event.target.value)}>
              <option value="">{providers?.chosen ? `As configured: ${providers.chosen}` : 'As configured'}</option>
              {providers?.ids.map((id) => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          Model
          <input
            className="field code"
            value={model}
            placeholder={(isOwn && providers?.model) || 'as configured'}
            spellCheck={false}
            onChange={(event) => setModel(event.target.value)}
          />
        </label>
        <fieldset className="setting">
          <legend>What it may do</legend>
          <RadioChoices name="sandbox" choices={SANDBOXES} value={sandbox} onChoose={setSandbox} />
        </fieldset>
        {failure && <ErrorNote message={failure} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" inert={isStarting} onClick={() => void start()}>
            Start session
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Says how a session gets a model; its shell works without. */
export function NoProvider(): ReactNode {
  return (
    <p className="dim">
      No model provider is chosen, so only shell commands (<code>!</code>) run.{' '}
      <a className="link" href={placeHref(place('settings'))}>
        Add a provider in Settings
      </a>
      : any server with the OpenAI Responses API, also Ollama or LM Studio on this machine.
    </p>
  )
}
