/** What the session runs with, and changing it: model, effort, when it asks, its sandbox, planning first. */
import { useEffect, useState, type ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { RadioChoices } from '../../components/radio-choices.tsx'
import { ErrorNote } from '../../components/states.tsx'
import { useThreadCall } from '../../feed/feed-context.tsx'
import type {
  ApprovalPolicy,
  ListedModel,
  SandboxPolicy,
  SettingsChange,
} from '../../../sidecars/protocol/owner-threads.ts'
import type { KnownSettings } from './transcript.ts'

const POLICIES = [
  { value: 'untrusted', words: 'asks before all but known safe commands', short: 'asks before most commands' },
  { value: 'on-request', words: 'asks when it wants more than its sandbox gives', short: 'asks for more' },
  { value: 'never', words: 'never asks; what is not allowed fails', short: 'never asks' },
] as const
const SANDBOXES = [
  { value: 'readOnly', words: 'read only' },
  { value: 'workspaceWrite', words: 'may write in its folder' },
  {
    value: 'dangerFullAccess',
    words: 'your full rights, no sandbox',
    opens: 'Only rules and the Inbox hold its commands back.',
  },
] as const

/** `gpt-5 · read only · asks for more`: the button that opens the dialog says what is in force. */
export function ThreadSettingsButton({
  threadId,
  settings,
  activeTurnId,
}: {
  threadId: string
  settings: KnownSettings
  activeTurnId: string | null
}): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="settings-in-force" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span className="code">{settings.model}</span>
        {settings.effort && <span>{settings.effort}</span>}
        <span className={settings.sandboxPolicy.type === 'dangerFullAccess' ? 'caution' : undefined}>
          {sandboxWords(settings.sandboxPolicy)}
        </span>
        <span>{policyWords(settings.approvalPolicy)}</span>
        {settings.collaborationMode?.mode === 'plan' && <span>plans first</span>}
      </button>
      {isOpen && (
        <SettingsDialog
          threadId={threadId}
          settings={settings}
          activeTurnId={activeTurnId}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

interface SettingsDialogProps {
  threadId: string
  settings: KnownSettings
  activeTurnId: string | null
  onClose: () => void
}

function SettingsDialog({ threadId, settings, activeTurnId, onClose }: SettingsDialogProps): ReactNode {
  const call = useThreadCall()
  const models = useModels()
  const [model, setModel] = useState(settings.model)
  const [effort, setEffort] = useState(settings.effort ?? '')
  const [policy, setPolicy] = useState<ApprovalPolicy>(settings.approvalPolicy)
  const [sandbox, setSandbox] = useState(settings.sandboxPolicy.type)
  const [plans, setPlans] = useState(settings.collaborationMode?.mode === 'plan')
  const [failure, setFailure] = useState<string | null>(null)
  const efforts = models.find((entry) => entry.model === model)?.supportedReasoningEfforts ?? []

  const apply = async (): Promise<void> => {
    const change = changeOf(settings, { model: model.trim(), effort, policy, sandbox, plans })
    const forTurn = {
      ...(change.model !== undefined && { model: change.model }),
      ...(typeof change.effort === 'string' && { effort: change.effort }),
    }
    if (Object.keys(change).length > 0) {
      const outcome = await call('thread/settings/update', { threadId, ...change })
      if (!outcome.ok) return setFailure(outcome.message)
    }
    // The running turn goes on with another model from its next request on; its rights stay as they are.
    if (activeTurnId !== null && Object.keys(forTurn).length > 0)
      await call('turn/settings/update', { threadId, turnId: activeTurnId, ...forTurn })
    onClose()
  }
  return (
    <Dialog title="What this session runs with" onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault()
          void apply()
        }}
      >
        <label>
          Model
          <input
            className="field code"
            list="thread-models"
            value={model}
            spellCheck={false}
            onChange={({ target }) => setModel(target.value)}
          />
          <datalist id="thread-models">
            {models.map((entry) => (
              <option key={entry.id} value={entry.model}>
                {entry.displayName}
              </option>
            ))}
          </datalist>
        </label>
        <label>
          Effort
          <input
            className="field"
            list="thread-efforts"
            value={effort}
            placeholder="as the model likes"
            onChange={({ target }) => setEffort(target.value.trim())}
          />
          <datalist id="thread-efforts">
            {efforts.map(({ reasoningEffort }) => (
              <option key={reasoningEffort} value={reasoningEffort} />
            ))}
          </datalist>
        </label>
        <fieldset className="setting">
          <legend>When it asks you</legend>
          <RadioChoices
            name="approvalPolicy"
            choices={POLICIES.map(({ value, words }) => ({ value, words: `It ${words}` }))}
            value={typeof policy === 'string' ? policy : undefined}
            onChoose={setPolicy}
          />
          {typeof policy !== 'string' && <p className="meta">Now a mixture that its configuration gives.</p>}
        </fieldset>
        <fieldset className="setting">
          <legend>Its sandbox</legend>
          <RadioChoices name="sandboxPolicy" choices={SANDBOXES} value={sandbox} onChoose={setSandbox} />
        </fieldset>
        <fieldset className="setting">
          <legend>Planning</legend>
          <label className="radio">
            <input type="checkbox" checked={plans} onChange={({ target }) => setPlans(target.checked)} />
            <span>Plans first: it may ask you questions, and changes nothing</span>
          </label>
        </fieldset>
        <p className="meta">
          {activeTurnId === null
            ? 'In force from the next turn on.'
            : 'Model and effort change with the next request of the turn that runs; everything else with the next turn.'}
        </p>
        {failure && <ErrorNote message={failure} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" inert={model.trim() === ''} onClick={() => void apply()}>
            Use these
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

interface Wanted {
  model: string
  effort: string
  policy: ApprovalPolicy
  sandbox: SandboxPolicy['type']
  plans: boolean
}

/** Only what is another than before. */
function changeOf(settings: KnownSettings, wanted: Wanted): SettingsChange {
  const change: SettingsChange = {}
  if (wanted.model !== settings.model) change.model = wanted.model
  if (wanted.effort !== '' && wanted.effort !== settings.effort) change.effort = wanted.effort
  if (wanted.policy !== settings.approvalPolicy) change.approvalPolicy = wanted.policy
  if (wanted.sandbox !== settings.sandboxPolicy.type) change.sandboxPolicy = policyOf(wanted.sandbox)
  if (wanted.plans !== (settings.collaborationMode?.mode === 'plan'))
    change.collaborationMode = {
      mode: wanted.plans ? 'plan' : 'default',
      settings: {
        model: wanted.model,
        reasoning_effort: wanted.effort || null,
        developer_instructions: null,
      },
    }
  return change
}

function policyOf(type: SandboxPolicy['type']): SandboxPolicy {
  switch (type) {
    case 'readOnly':
      return { type, networkAccess: false }
    case 'workspaceWrite':
      return { type, writableRoots: [], networkAccess: false, excludeTmpdirEnvVar: false, excludeSlashTmp: false }
    case 'dangerFullAccess':
      return { type }
    case 'externalSandbox':
      return { type, networkAccess: 'restricted' }
  }
}

function useModels(): readonly ListedModel[] {
  const call = useThreadCall()
  const [models, setModels] = useState<readonly ListedModel[]>([])
  useEffect(() => {
    let isCurrent = true
    void call('model/list', {}).then(
      (outcome) => isCurrent && outcome.ok && setModels(outcome.value.data.filter(({ hidden }) => !hidden)),
    )
    return () => {
      isCurrent = false
    }
  }, [call])
  return models
}

function policyWords(policy: ApprovalPolicy): string {
  return POLICIES.find(({ value }) => value === policy)?.short ?? 'asks as its configuration says'
}

function sandboxWords(policy: SandboxPolicy): string {
  return SANDBOXES.find(({ value }) => value === policy.type)?.words ?? 'confined by somebody else'
}
