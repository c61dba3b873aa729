/** What the owner fills in for a request that wants words; kept here until it is sent, and nowhere else. */
import { useMemo, useState } from 'react'
import type { Subject } from '../../preload/api.ts'
import { answerFields, checkAnswers, type AnswerField, type Answers } from '../../sidecars/protocol/answer-form.ts'

export interface AnswerForm {
  /** Null for a request that wants only a verdict. */
  fields: readonly AnswerField[] | null
  values: Answers
  write(name: string, value: unknown): void
  /** By field; only what the owner has tried to send. */
  problems: Record<string, string>
  /** Something was filled in. */
  isTouched: boolean
  /** The answers as they are sent; null when something is missing, which is then shown. */
  read(): Answers | null
}

export function useAnswerForm(subject: Subject): AnswerForm {
  const fields = useMemo(() => answerFields(subject), [subject])
  const [written, setWritten] = useState<Answers>({})
  const [isTried, setTried] = useState(false)
  const values = { ...initialValues(fields), ...written }
  const checked = checkAnswers(fields ?? [], values)
  return {
    fields,
    values,
    write: (name, value) => setWritten((known) => ({ ...known, [name]: value })),
    problems: isTried ? checked.problems : {},
    isTouched: Object.keys(written).length > 0,
    read() {
      setTried(true)
      return Object.keys(checked.problems).length === 0 ? checked.answers : null
    },
  }
}

function initialValues(fields: readonly AnswerField[] | null): Answers {
  return Object.fromEntries(
    (fields ?? []).flatMap(({ name, initial }) => (initial === undefined ? [] : [[name, initial]])),
  )
}
