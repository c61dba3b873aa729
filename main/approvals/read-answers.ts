import type { DecideIntent } from '../../preload/api.ts'
import { answerFields, checkAnswers, type Answers } from '../../sidecars/protocol/answer-form.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'

/**
 * What an intent brings for a subject that has a form: checked against the form, and nothing beside it. A
 * problem is a sentence that names the fields; then nothing is decided.
 */
export function readAnswers(
  subject: Subject,
  { verdict, content }: Pick<DecideIntent, 'verdict' | 'content'>,
): { content?: Answers } | { problem: string } {
  const fields = answerFields(subject)
  if (fields === null || verdict === 'deny')
    return content === undefined ? {} : { problem: 'content: this answer takes no words of its own; leave it out.' }
  const { answers, problems } = checkAnswers(fields, content ?? {})
  const wrong = Object.entries(problems).map(([name, problem]) => `${name} ${problem}`)
  return wrong.length === 0 ? { content: answers } : { problem: `It is not answered yet: ${wrong.join('; ')}.` }
}
