/** The answer: verdict at the ends, scope between them, words for the agent and the rule above. */
import { useEffect, useRef, type ReactNode } from 'react'
import type { ApprovalView, Scope } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { writeChord } from '../components/key-chords.ts'
import { ErrorNote } from '../components/states.tsx'
import { RulePreviewPanel } from './rule-preview.tsx'
import { ScopeChoice } from './scope-choice.tsx'
import type { Answer } from './use-answer.ts'
import './decision-bar.css'

const ALLOW_WORDS: Record<Scope, string> = {
  once: 'Allow once',
  session: 'Allow for session',
  always: 'Save rule and allow',
}
const DENY_WORDS: Record<Scope, string> = { once: 'Deny', session: 'Deny for session', always: 'Save rule and deny' }

interface AnswerWords {
  allow: string
  allowing: string
  deny: string
  denying: string
  denyWithWords: string
}

function answerWords(scope: Scope, asksForWords: boolean): AnswerWords {
  if (asksForWords)
    return {
      allow: 'Send answer',
      allowing: 'Sending',
      deny: 'Decline',
      denying: 'Declining',
      denyWithWords: 'Decline and say why',
    }
  return {
    allow: ALLOW_WORDS[scope],
    allowing: 'Allowing',
    deny: DENY_WORDS[scope],
    denying: 'Denying',
    denyWithWords: 'Deny and say why',
  }
}

export interface DecisionBarProps {
  request: ApprovalView
  /** It is a question: the answer is words, not a permission. */
  asksForWords: boolean
  answer: Answer
  /** Too early to be meant; see `use-inert.ts`. */
  inert: boolean
  /** Id of the element that holds the subject; describes every button here. */
  subjectId: string
}

export function DecisionBar({ request, asksForWords, answer, inert, subjectId }: DecisionBarProps): ReactNode {
  const words = answerWords(answer.scope, asksForWords)
  const held = inert || !answer.ready
  return (
    <div className="decision">
      {answer.scope !== 'once' && <RulePreviewPanel preview={answer.preview} />}
      {answer.denying && <ReasonField answer={answer} held={held} />}
      {answer.failure && <ErrorNote message={answer.failure} />}
      <div className="decision-bar" role="group" aria-label="Your answer">
        <Button
          inert={held}
          aria-describedby={subjectId}
          title={writeChord('Mod+Backspace')}
          onClick={() => answer.decide('deny')}
        >
          {answer.sending === 'deny' ? words.denying : words.deny}
        </Button>
        <Button
          tone="quiet"
          inert={inert}
          aria-describedby={subjectId}
          aria-expanded={answer.denying}
          title={writeChord('Mod+Shift+Backspace')}
          onClick={answer.denying ? answer.closeReason : answer.openReason}
        >
          {words.denyWithWords}
        </Button>
        <span className="spacer" />
        {request.scopes.length > 1 && (
          <>
            <span className="meta" aria-hidden="true">
              scope
            </span>
            <ScopeChoice offered={request.scopes} scope={answer.scope} onChoose={answer.chooseScope} />
          </>
        )}
        <Button
          tone="primary"
          inert={held || answer.denying}
          aria-describedby={subjectId}
          title={writeChord('Mod+Enter')}
          onClick={() => answer.decide('allow')}
        >
          {answer.sending === 'allow' ? words.allowing : words.allow}
        </Button>
      </div>
    </div>
  )
}

function ReasonField({ answer, held }: { answer: Answer; held: boolean }): ReactNode {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])
  return (
    <div className="reason">
      <textarea
        ref={field}
        className="field"
        rows={2}
        aria-label="Reason for the agent"
        placeholder="Reason for the agent, sent word for word"
        value={answer.reason}
        onChange={(event) => answer.writeReason(event.target.value)}
      />
      <div className="reason-actions">
        <Button tone="danger" inert={held} title={writeChord('Mod+Enter')} onClick={() => answer.decide('deny')}>
          Send denial
        </Button>
        <Button tone="quiet" onClick={answer.closeReason}>
          Cancel
        </Button>
      </div>
    </div>
  )
}
