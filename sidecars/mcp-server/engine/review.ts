/** A code review inside a turn: the model looks at a change and answers with findings. */
import type { AgentMessageItem } from '../../protocol/app-server/thread-item.ts'
import type { ActiveTurn } from './active-turn.ts'
import { ModelHistory, textMessage } from './model-history.ts'
import { runTurnLoop } from './turn-loop.ts'
import type { ThreadRuntime } from './thread-runtime.ts'
import { uuid7 } from './uuid7.ts'

export type ReviewTarget =
  | { type: 'uncommittedChanges' }
  | { type: 'baseBranch'; branch: string }
  | { type: 'commit'; sha: string; title?: string | null }
  | { type: 'custom'; instructions: string }

/** The target cannot be reviewed; names the member that is wrong. */
export class ReviewTargetError extends Error {
  override readonly name = 'ReviewTargetError'
}

interface ReviewOutput {
  findings: {
    title?: string
    body?: string
    code_location?: { absolute_file_path?: string; line_range?: { start: number; end: number } }
  }[]
  overall_correctness: string
  overall_explanation: string
  overall_confidence_score: number
}

const INSTRUCTIONS =
  'Review a change as a careful colleague. Read the code around it. Report only problems that its author would want to fix: wrong results, crashes, security, lost data, broken contracts. For each give a title, what goes wrong and when, and the place. Answer with one JSON object: {"findings":[{"title","body","confidence_score","priority","code_location":{"absolute_file_path","line_range":{"start","end"}}}],"overall_correctness":"patch is correct"|"patch is incorrect","overall_explanation","overall_confidence_score"}.'

/** What is asked, and the words for people. @throws ReviewTargetError */
export function reviewPrompt(target: ReviewTarget): { prompt: string; hint: string } {
  switch (target.type) {
    case 'uncommittedChanges':
      return {
        prompt: 'Review the uncommitted changes of this repository: staged, unstaged and untracked files.',
        hint: 'current changes',
      }
    case 'baseBranch':
      if (target.branch.trim() === '')
        throw new ReviewTargetError('target.branch: is empty; name the branch to compare with')
      return {
        prompt: `Review what this branch adds to "${target.branch}": find the merge base and look at the difference from there.`,
        hint: `changes against '${target.branch}'`,
      }
    case 'commit':
      if (target.sha.trim() === '') throw new ReviewTargetError('target.sha: is empty; give the commit to review')
      return {
        prompt: `Review the commit ${target.sha}${target.title ? ` ("${target.title}")` : ''}.`,
        hint: `commit ${target.sha.slice(0, 7)}${target.title ? `: ${target.title}` : ''}`,
      }
    case 'custom':
      if (target.instructions.trim() === '')
        throw new ReviewTargetError('target.instructions: is empty; say what to review')
      return { prompt: target.instructions.trim(), hint: target.instructions.trim() }
  }
}

/** Runs in a history of its own; the thread's history gets the outcome. */
export async function reviewTurn(thread: ThreadRuntime, turn: ActiveTurn, target: ReviewTarget): Promise<void> {
  const { prompt, hint } = reviewPrompt(target)
  bracket(thread, turn, 'enteredReviewMode', hint)
  let answer: AgentMessageItem | null = null
  const inner: ThreadRuntime = Object.create(thread, {
    history: { value: new ModelHistory([textMessage('developer', INSTRUCTIONS), textMessage('user', prompt)]) },
    record: { value: (...items: Parameters<ThreadRuntime['record']>) => inner.history.add(...items) },
    finishItem: {
      value: (turnId: string, item: Parameters<ThreadRuntime['finishItem']>[1], startedAtMs: number) => {
        if (item.type === 'agentMessage') answer = item
        thread.finishItem(turnId, item, startedAtMs)
      },
    },
  }) as ThreadRuntime
  await runTurnLoop(inner, turn, {
    onInput: async () => undefined,
    onResponse: () => undefined,
    onUsage: () => undefined,
    compactIfFull: async () => undefined,
  })
  const outcome = describeReview((answer as AgentMessageItem | null)?.text ?? '')
  bracket(thread, turn, 'exitedReviewMode', outcome)
  thread.record(textMessage('user', `A review was done (${hint}). Its outcome:\n${outcome}`))
}

function bracket(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  type: 'enteredReviewMode' | 'exitedReviewMode',
  review: string,
): void {
  const item = { type, id: uuid7(), review }
  thread.finishItem(turn.id, item, thread.beginItem(turn.id, item))
}

/** The findings in words; an answer that is not the JSON asked for is given as it is. */
export function describeReview(text: string): string {
  const output = parseOutput(text)
  if (!output) return text.trim() === '' ? 'The review gave no answer.' : text.trim()
  const findings = output.findings.map((finding) => {
    const place = finding.code_location
    const lines = place?.line_range ? `:${place.line_range.start}-${place.line_range.end}` : ''
    const where = place?.absolute_file_path ? ` — ${place.absolute_file_path}${lines}` : ''
    return `- ${finding.title ?? 'Finding'}${where}\n  ${finding.body ?? ''}`
  })
  return [output.overall_explanation, ...(findings.length > 0 ? ['', ...findings] : [])].join('\n').trim()
}

function parseOutput(text: string): ReviewOutput | null {
  const start = text.indexOf('{')
  const end = text.lastIndexOf('}')
  if (start === -1 || end <= start) return null
  try {
    const value = JSON.parse(text.slice(start, end + 1)) as Partial<ReviewOutput>
    if (!Array.isArray(value.findings) || typeof value.overall_explanation !== 'string') return null
    return value as ReviewOutput
  } catch {
    return null
  }
}
