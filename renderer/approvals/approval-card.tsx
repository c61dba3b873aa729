/** One request waiting for an answer. Everything that would happen is on it; only chords and presses on it answer it. */
import { memo, useEffect, useId, useRef, type KeyboardEvent, type ReactNode } from 'react'
import type { ApprovalView } from '../../preload/api.ts'
import { matchesChord } from '../components/key-chords.ts'
import { Elapsed } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { AnswerFields } from './answer-form.tsx'
import { CommandBlock } from './command-block.tsx'
import { CommandFacts } from './command-facts.tsx'
import { ConnectionBlock } from './connection-block.tsx'
import { DecisionBar } from './decision-bar.tsx'
import { FileChangeBlock } from './file-change-block.tsx'
import { ElicitationBlock, QuestionBlock, ToolUseBlock } from './foreign-block.tsx'
import { OutcomeLine } from './outcome-line.tsx'
import { askingWords, requestSentence } from './subject-words.ts'
import { useAnswer } from './use-answer.ts'
import { useAnswerForm, type AnswerForm } from './use-answer-form.ts'
import { useInert } from './use-inert.ts'
import './approval-card.css'

export interface ApprovalCardProps {
  request: ApprovalView
  /** The owner began or stopped answering this card. */
  onBusy: (id: string, busy: boolean) => void
  /** Answered from here; `hadFocus` says whether focus has to go somewhere else now. */
  onAnswered: (id: string, hadFocus: boolean) => void
}

/** Id of the card's element, for the list and for moving focus. */
export function cardElementId(requestId: string): string {
  return `request-${requestId}`
}

/** Drawn anew only with its own request: others come and go all the time. */
export const ApprovalCard = memo(function ApprovalCard({ request, onBusy, onAnswered }: ApprovalCardProps): ReactNode {
  const element = useRef<HTMLDivElement>(null)
  const subjectId = useId()
  const inert = useInert()
  const form = useAnswerForm(request.subject)
  const answer = useAnswer(request, form, () =>
    onAnswered(request.id, element.current?.contains(document.activeElement) ?? false),
  )
  const pending = request.state === 'pending'
  const busy = pending && (answer.scope !== 'once' || answer.denying || form.isTouched || answer.sending !== null)

  useEffect(() => {
    onBusy(request.id, busy)
    return () => onBusy(request.id, false)
  }, [busy, onBusy, request.id])

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const chord = (text: string): boolean => matchesChord(event.nativeEvent, text)
    const typing = isTextField(event.target)
    if (event.key === 'Escape' && answer.denying) {
      event.stopPropagation()
      answer.closeReason()
      element.current?.focus()
    } else if (chord('Mod+Enter')) {
      event.preventDefault()
      if (inert || event.repeat || !pending) return
      // While words for a denial are open, the same chord sends the denial: it can never turn into a yes.
      answer.decide(answer.denying ? 'deny' : 'allow')
    } else if (!typing && chord('Mod+Backspace')) {
      event.preventDefault()
      if (!inert && !event.repeat && pending) answer.decide('deny')
    } else if (!typing && chord('Mod+Shift+Backspace')) {
      event.preventDefault()
      if (!inert && pending) answer.openReason()
    }
  }

  return (
    <div
      ref={element}
      id={cardElementId(request.id)}
      className={`approval-card ${pending ? '' : 'over'}`}
      // What is over stays in place for a while but is no longer a request.
      role={pending ? 'article' : 'group'}
      aria-label={requestSentence(request)}
      aria-busy={answer.sending !== null || undefined}
      tabIndex={-1}
      data-request={request.id}
      onKeyDown={onKeyDown}
    >
      <header className="approval-head">
        <p>
          <strong>
            <VisibleText text={request.agentName} />
          </strong>{' '}
          {askingWords(request.subject)}
        </p>
        <span className="meta">
          {request.waiting > 1 && request.subject.kind !== 'connection' && `${request.waiting} alike, `}
          {pending ? 'waiting ' : 'waited '}
          <Elapsed sinceMs={request.askedAtMs} untilMs={pending ? null : (request.decision?.decidedAtMs ?? null)} />
        </span>
      </header>
      <div id={subjectId} className="approval-subject">
        <SubjectBlock request={request} form={form} />
      </div>
      {pending ? (
        <>
          {form.fields === null && <Why request={request} />}
          <DecisionBar
            request={request}
            asksForWords={form.fields !== null}
            answer={answer}
            inert={inert}
            subjectId={subjectId}
          />
        </>
      ) : (
        <div className="decision">
          <OutcomeLine request={request} />
        </div>
      )}
    </div>
  )
})

const isTextField = (target: EventTarget): boolean =>
  target instanceof HTMLTextAreaElement ||
  (target instanceof HTMLInputElement && target.type !== 'radio' && target.type !== 'checkbox')

function SubjectBlock({ request, form }: { request: ApprovalView; form: AnswerForm }): ReactNode {
  const { subject } = request
  const fields = <AnswerFields form={form} isOver={request.state !== 'pending'} />
  switch (subject.kind) {
    case 'command':
      return (
        <>
          <CommandBlock argv={subject.argv} />
          <CommandFacts subject={subject} />
        </>
      )
    case 'connection':
      return <ConnectionBlock request={request} subject={subject} />
    case 'fileChange':
      return <FileChangeBlock changes={subject.changes} />
    case 'toolUse':
      return <ToolUseBlock subject={subject} />
    case 'elicitation':
      return <ElicitationBlock subject={subject}>{fields}</ElicitationBlock>
    case 'question':
      return <QuestionBlock>{fields}</QuestionBlock>
  }
}

/** Why nobody but the owner can answer this. */
function Why({ request }: { request: ApprovalView }): ReactNode {
  const { summary, nearly } = request.why
  return (
    <>
      {request.refused !== null && (
        <div className="approval-refused">
          <p>Its sandbox refused it; now it would run as shown above. Its last words:</p>
          <pre>
            <VisibleText text={request.refused} />
          </pre>
        </div>
      )}
      {request.reason !== null && (
        <p className="approval-why">
          <span className="dim">it says</span> <VisibleText text={request.reason} />
        </p>
      )}
      <p className="approval-why">
        <span className="dim">asks because</span> <VisibleText text={summary} />
        {nearly && (
          <>
            {' '}
            <span className="dim">· nearly matched</span> <VisibleText text={nearly} />
          </>
        )}
      </p>
    </>
  )
}

/** Kept here so that the list and the card scroll and focus alike. */
export function focusCard(requestId: string): boolean {
  const card = document.getElementById(cardElementId(requestId))
  if (!card) return false
  card.focus({ preventScroll: true })
  // A card that does not fit is shown from its start: one reads what is asked before the answer.
  const fits = card.offsetHeight <= (card.closest('.page-body')?.clientHeight ?? 0)
  card.scrollIntoView({ block: fits ? 'nearest' : 'start' })
  return true
}
