/** One answer in the making: scope, words, what the rule would be, and what became of it. */
import { useEffect, useState } from 'react'
import type { ApprovalView, RulePreview, Scope, Verdict } from '../../preload/api.ts'
import { useInvoke } from '../feed/feed-context.tsx'
import type { AnswerForm } from './use-answer-form.ts'

export interface Answer {
  scope: Scope
  chooseScope(scope: Scope): void
  /** The owner is writing words for the agent. */
  denying: boolean
  openReason(): void
  closeReason(): void
  reason: string
  writeReason(reason: string): void
  /** The rule that a scope wider than once would write; null until it is known. */
  preview: RulePreview | null
  /** Why nothing could be sent or previewed. Nothing is allowed by a failure. */
  failure: string | null
  sending: Verdict | null
  /** May be pressed: nothing on its way, and a wide scope has shown what it does. */
  ready: boolean
  decide(verdict: Verdict): void
}

export function useAnswer(request: ApprovalView, form: AnswerForm, onAnswered: () => void): Answer {
  const invoke = useInvoke()
  const [scope, setScope] = useState<Scope>('once')
  const [denying, setDenying] = useState(false)
  const [reason, setReason] = useState('')
  const [preview, setPreview] = useState<{ scope: Scope; rule: RulePreview } | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [sending, setSending] = useState<Verdict | null>(null)

  useEffect(() => {
    if (scope === 'once') return
    let current = true
    void invoke('approvals.preview', request.id, scope).then((outcome) => {
      if (!current) return
      if (outcome.ok) setPreview({ scope, rule: outcome.value })
      else setFailure(`What this rule would do could not be shown, so it cannot be saved. ${outcome.message}`)
    })
    return () => {
      current = false
    }
  }, [invoke, request.id, scope])

  const shownRule = preview?.scope === scope ? preview.rule : null
  const ready = sending === null && (scope === 'once' || shownRule !== null)

  const decide = (verdict: Verdict): void => {
    if (!ready) return
    const content = verdict === 'allow' && form.fields !== null ? form.read() : undefined
    if (content === null) return
    setSending(verdict)
    setFailure(null)
    const words = reason.trim()
    void invoke('approvals.decide', {
      requestId: request.id,
      subjectHash: request.subjectHash,
      verdict,
      scope,
      ...(content && { content }),
      ...(verdict === 'deny' && denying && words !== '' ? { reason: words } : {}),
    }).then((outcome) => {
      setSending(null)
      const refusal = !outcome.ok ? outcome.message : outcome.value.ok ? null : outcome.value.message
      if (refusal === null) return onAnswered()
      setFailure(`Your answer was not taken: ${refusal}`)
    })
  }

  return {
    scope,
    chooseScope(next) {
      setFailure(null)
      setScope(next)
    },
    denying,
    openReason: () => setDenying(true),
    closeReason() {
      setDenying(false)
      setReason('')
    },
    reason,
    writeReason: setReason,
    preview: shownRule,
    failure,
    sending,
    ready,
    decide,
  }
}
