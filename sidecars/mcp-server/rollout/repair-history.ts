/** Makes a model history acceptable again after a crash or a cut: every call has exactly one output. */
import type { ResponseItem } from './turn-projection.ts'

const OUTPUT_OF: Record<string, string> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  local_shell_call: 'function_call_output',
  tool_search_call: 'tool_search_output',
}

/** What the model is told of a call whose output was lost: nobody knows how far it got. */
export const LOST_OUTPUT = 'aborted'

/**
 * Adds the missing outputs right behind their calls and drops outputs of calls that are not there.
 * Returns the items added, which the caller stores so that a second resume adds nothing.
 */
export function repairHistory(history: readonly ResponseItem[]): { history: ResponseItem[]; added: ResponseItem[] } {
  const calls = new Map<string, string>()
  const answered = new Set<string>()
  for (const item of history) {
    const output = OUTPUT_OF[String(item.type)]
    const callId = String(item.call_id ?? '')
    if (output) calls.set(callId, output)
    else if (isOutput(item)) answered.add(callId)
  }
  const repaired: ResponseItem[] = []
  const added: ResponseItem[] = []
  for (const item of history) {
    const callId = String(item.call_id ?? '')
    if (isOutput(item) && !calls.has(callId)) continue
    repaired.push(item)
    const output = OUTPUT_OF[String(item.type)]
    if (!output || answered.has(callId)) continue
    const lost: ResponseItem =
      output === 'tool_search_output'
        ? { type: output, call_id: callId, status: 'completed', execution: 'client', tools: [] }
        : { type: output, call_id: callId, output: LOST_OUTPUT }
    repaired.push(lost)
    added.push(lost)
  }
  return { history: repaired, added }
}

const isOutput = (item: ResponseItem): boolean => Object.values(OUTPUT_OF).includes(String(item.type))
