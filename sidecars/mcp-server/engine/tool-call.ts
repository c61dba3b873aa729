/** A tool call of the model and what a handler makes of it. */
import type { ResponseItem } from '../rollout/turn-projection.ts'
import type { ActiveTurn } from './active-turn.ts'

export interface ToolCall {
  callId: string
  /** Bare name; `namespace` tells whose it is (an MCP server, a client). */
  name: string
  namespace: string | null
  payload:
    | { kind: 'function'; argumentsText: string }
    | { kind: 'custom'; input: string }
    | { kind: 'toolSearch'; arguments: unknown }
}

/** What goes back to the model: text, or content parts (images). */
export interface ToolOutput {
  content: string | ResponseItem[]
  /** False for a failure the model should see as one. */
  success: boolean
}

export interface ToolHandler {
  /** May run beside other parallel calls. */
  parallel: boolean
  /** On cancellation it cleans up first, and is waited for. */
  waitsForCancellation?: boolean
  /**
   * Does the work. A thrown ToolFailure becomes text for the model; a thrown TurnStop ends the turn;
   * anything else is a fault of ours and fails the turn.
   */
  run(call: ToolCall, turn: ActiveTurn, signal: AbortSignal): Promise<ToolOutput>
  /** What the model reads when the call was cut off after `seconds`. */
  abortedText?(seconds: string): string
}

/** The call failed in a way the model can react to. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure'
}

/** A person cancelled: the turn ends. */
export class TurnStop extends Error {
  override readonly name = 'TurnStop'
}

/** The tool call in a response item, or null when it is none that we run. */
export function toolCallOf(item: ResponseItem): ToolCall | null {
  const callId = String(item.call_id ?? '')
  const name = String(item.name ?? '')
  const namespace = typeof item.namespace === 'string' ? item.namespace : null
  if (item.type === 'function_call')
    return { callId, name, namespace, payload: { kind: 'function', argumentsText: String(item.arguments ?? '') } }
  if (item.type === 'custom_tool_call')
    return { callId, name, namespace, payload: { kind: 'custom', input: String(item.input ?? '') } }
  if (item.type === 'tool_search_call' && item.execution === 'client')
    return { callId, name: 'tool_search', namespace, payload: { kind: 'toolSearch', arguments: item.arguments } }
  return null
}

/** The response item that answers a call; its shape follows the call's. */
export function outputItem(call: ToolCall, output: ToolOutput): ResponseItem {
  switch (call.payload.kind) {
    case 'toolSearch':
      return {
        type: 'tool_search_output',
        call_id: call.callId,
        status: 'completed',
        execution: 'client',
        tools: output.success && Array.isArray(output.content) ? output.content : [],
      }
    case 'custom':
      return { type: 'custom_tool_call_output', call_id: call.callId, output: output.content }
    case 'function':
      return { type: 'function_call_output', call_id: call.callId, output: output.content }
  }
}

/**
 * The arguments of a function call as an object.
 * @throws ToolFailure with the text the model gets
 */
export function argumentsOf(call: ToolCall): Record<string, unknown> {
  if (call.payload.kind !== 'function')
    throw new ToolFailure(`${call.name} is a function tool; call it with JSON arguments`)
  try {
    const value: unknown = JSON.parse(call.payload.argumentsText === '' ? '{}' : call.payload.argumentsText)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('expected an object')
    return value as Record<string, unknown>
  } catch (error) {
    throw new ToolFailure(`failed to parse function arguments: ${(error as Error).message}`)
  }
}
