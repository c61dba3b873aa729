/** Token counts: of the last response and of the thread. */
import type { ThreadTokenUsage, TokenUsageBreakdown } from '../../protocol/app-server/thread.ts'
import type { TokenUsage } from './response-reader.ts'

const NONE: TokenUsageBreakdown = {
  totalTokens: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningOutputTokens: 0,
}

export function usageView(usage: TokenUsage): TokenUsageBreakdown {
  return { ...NONE, ...usage }
}

export function addUsage(
  before: ThreadTokenUsage | null,
  last: TokenUsageBreakdown,
  modelContextWindow: number | null,
): ThreadTokenUsage {
  const total = { ...(before?.total ?? NONE) }
  for (const name of Object.keys(total) as (keyof TokenUsageBreakdown)[]) total[name] += last[name]
  return { total, last, modelContextWindow }
}

const snake = (usage: TokenUsageBreakdown): Record<string, number> => ({
  total_tokens: usage.totalTokens,
  input_tokens: usage.inputTokens,
  cached_input_tokens: usage.cachedInputTokens,
  cache_write_input_tokens: usage.cacheWriteInputTokens,
  output_tokens: usage.outputTokens,
  reasoning_output_tokens: usage.reasoningOutputTokens,
})

/** As stored (Codex CLI's names). */
export function tokenCountRecord(usage: ThreadTokenUsage): Record<string, unknown> {
  return {
    type: 'token_count',
    info: {
      total_token_usage: snake(usage.total),
      last_token_usage: snake(usage.last),
      model_context_window: usage.modelContextWindow,
    },
  }
}

/** What a stored count says; null when there is none. */
export function usageOfRecord(info: Record<string, unknown> | null): ThreadTokenUsage | null {
  if (!info) return null
  const read = (part: unknown): TokenUsageBreakdown => {
    const stored = (part ?? {}) as Record<string, unknown>
    const number = (name: string): number => (typeof stored[name] === 'number' ? (stored[name] as number) : 0)
    return {
      totalTokens: number('total_tokens'),
      inputTokens: number('input_tokens'),
      cachedInputTokens: number('cached_input_tokens'),
      cacheWriteInputTokens: number('cache_write_input_tokens'),
      outputTokens: number('output_tokens'),
      reasoningOutputTokens: number('reasoning_output_tokens'),
    }
  }
  return {
    total: read(info.total_token_usage),
    last: read(info.last_token_usage),
    modelContextWindow: typeof info.model_context_window === 'number' ? info.model_context_window : null,
  }
}
