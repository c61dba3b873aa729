/** Model servers for Gatehouse's own sessions: the one in use, and adding another after it has answered. */
import { useState, type ReactNode } from 'react'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/states.tsx'
import { useThreadCall } from '../feed/feed-context.tsx'
import { useProviders } from '../sessions/thread/use-providers.ts'

const NAME = /^[A-Za-z0-9_-]{1,40}$/

export function ProviderSettings(): ReactNode {
  const call = useThreadCall()
  const { providers, problem, refresh } = useProviders()
  const [failure, setFailure] = useState<string | null>(null)

  const choose = (id: string): void => {
    const edits = [{ keyPath: 'model_provider', value: id, mergeStrategy: 'replace' as const }]
    void call('config/batchWrite', { edits }).then((outcome) => {
      setFailure(outcome.ok ? null : outcome.message)
      refresh()
    })
  }
  return (
    <fieldset className="setting">
      <legend>Model providers</legend>
      <p className="dim">
        Where Gatehouse&apos;s own sessions get their model: any server with the OpenAI Responses API.{' '}
        <code className="setting-key">config.toml</code>
      </p>
      {(failure ?? problem) && <ErrorNote message={`The providers were not changed. ${failure ?? problem}`} />}
      {providers?.ids.map((id) => (
        <label key={id} className="radio">
          <input type="radio" name="model_provider" checked={providers.chosen === id} onChange={() => choose(id)} />
          <span>{id}</span>
        </label>
      ))}
      <AddProvider onAdded={refresh} />
    </fieldset>
  )
}

interface Checked {
  baseUrl: string
  envKey: string
  key: string
  models: readonly string[]
}

function AddProvider({ onAdded }: { onAdded: () => void }): ReactNode {
  const call = useThreadCall()
  const [name, setName] = useState('')
  const [baseUrl, setBaseUrl] = useState('')
  const [envKey, setEnvKey] = useState('')
  const [key, setKey] = useState('')
  const [model, setModel] = useState('')
  const [checked, setChecked] = useState<Checked | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const isChecked = checked?.baseUrl === baseUrl && checked.envKey === envKey && checked.key === key

  const check = (): void => {
    setFailure(null)
    const from = { baseUrl, ...(envKey !== '' && { envKey }), ...(key !== '' && { key }) }
    void call('gatehouse/provider/check', from).then((outcome) => {
      if (!outcome.ok) return setFailure(outcome.message)
      setChecked({ baseUrl, envKey, key, models: outcome.value.models })
      setModel(outcome.value.models[0] ?? '')
    })
  }
  const add = (): void => {
    if (!NAME.test(name)) return setFailure('Name: use letters, digits, - and _ only.')
    const provider = {
      name,
      base_url: baseUrl,
      ...(envKey !== '' && { env_key: envKey }),
      ...(key !== '' && { keychain: true }),
    }
    const edits = [
      { keyPath: `model_providers.${name}`, value: provider, mergeStrategy: 'replace' as const },
      { keyPath: 'model_provider', value: name, mergeStrategy: 'replace' as const },
      ...(model === '' ? [] : [{ keyPath: 'model', value: model, mergeStrategy: 'replace' as const }]),
    ]
    // The key first: a provider without its key would only fail.
    const kept = key === '' ? null : call('gatehouse/provider/key/set', { providerId: name, key })
    void Promise.resolve(kept)
      .then((outcome) => (outcome && !outcome.ok ? outcome : call('config/batchWrite', { edits })))
      .then((outcome) => {
        setFailure(outcome.ok ? null : outcome.message)
        if (!outcome.ok) return
        setName('')
        setKey('')
        setBaseUrl('')
        setEnvKey('')
        setChecked(null)
        onAdded()
      })
  }
  return (
    <details className="add-provider">
      <summary>Add a provider</summary>
      <div className="dialog-form">
        <Text label="Name" value={name} onChange={setName} placeholder="my-server" />
        <Text label="Base URL" value={baseUrl} onChange={setBaseUrl} placeholder="http://127.0.0.1:11434/v1" />
        <Text
          label="Environment variable with the key (none for a local server)"
          value={envKey}
          onChange={setEnvKey}
          placeholder="MY_SERVER_KEY"
        />
        <Text
          label="or the key itself, kept in the keychain of this computer"
          value={key}
          onChange={setKey}
          placeholder=""
          isSecret
        />
        {failure && <ErrorNote message={failure} />}
        <p className="meta" role="status">
          {isChecked &&
            (checked.models.length === 0
              ? 'It answers, and names no models.'
              : `It answers: ${checked.models.length} models.`)}
        </p>
        {isChecked && checked.models.length > 0 && (
          <label>
            Model for new sessions
            <select className="field" value={model} onChange={(event) => setModel(event.target.value)}>
              {checked.models.map((id) => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
            </select>
          </label>
        )}
        <div className="dialog-actions">
          <Button inert={baseUrl === ''} onClick={check}>
            Test connection
          </Button>
          <Button tone="primary" inert={name === '' || baseUrl === ''} onClick={add}>
            Add and use
          </Button>
        </div>
      </div>
    </details>
  )
}

interface TextProps {
  label: string
  value: string
  placeholder: string
  isSecret?: boolean
  onChange: (value: string) => void
}

function Text({ label, value, placeholder, isSecret, onChange }: TextProps): ReactNode {
  return (
    <label>
      {label}
      <input
        className="field code"
        type={isSecret ? 'password' : 'text'}
        autoComplete="off"
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value.trim())}
      />
    </label>
  )
}
