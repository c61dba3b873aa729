/** What is known of models: windows, efforts, tools. Unknown slugs work with careful defaults. */
import type { ModelInfo } from '../engine/services.ts'

interface CatalogueEntry {
  slug: string
  displayName: string
  description: string
  contextWindow: number
  reasoning: boolean
}

/** Usable part of a window: the rest is left for the answer (the reference keeps 5 %). */
const USABLE = 0.95
/** Compaction starts before the window is full. */
const COMPACT_AT = 0.9

const CATALOGUE: readonly CatalogueEntry[] = [
  {
    slug: 'gpt-5.5',
    displayName: 'GPT-5.5',
    description: 'Coding and everyday work.',
    contextWindow: 272_000,
    reasoning: true,
  },
  {
    slug: 'gpt-5.5-mini',
    displayName: 'GPT-5.5 mini',
    description: 'Small and quick.',
    contextWindow: 272_000,
    reasoning: true,
  },
]
const EFFORTS = [
  { reasoningEffort: 'low', description: 'Quick answers' },
  { reasoningEffort: 'medium', description: 'Balanced' },
  { reasoningEffort: 'high', description: 'Thinks longer about hard problems' },
]

export function modelInfo(slug: string): ModelInfo {
  const known = CATALOGUE.find((entry) => entry.slug === slug)
  const window = Math.floor((known?.contextWindow ?? 128_000) * USABLE)
  return {
    slug,
    contextWindow: window,
    autoCompactTokens: Math.floor(window * COMPACT_AT),
    reasoning: known?.reasoning ?? false,
    defaultEffort: known?.reasoning ? 'medium' : null,
    defaultVerbosity: known ? 'low' : null,
    parallelToolCalls: true,
    applyPatch: true,
  }
}

/** The catalogue for `model/list`; the configured model is always in it, and is the default. */
export function modelEntries(chosen: string): unknown[] {
  const slugs = [...new Set([chosen, ...CATALOGUE.map((entry) => entry.slug)])]
  return slugs.map((slug) => {
    const known = CATALOGUE.find((entry) => entry.slug === slug)
    return {
      id: slug,
      model: slug,
      upgrade: null,
      upgradeInfo: null,
      availabilityNux: null,
      displayName: known?.displayName ?? slug,
      description: known?.description ?? 'Configured in config.toml.',
      modelSpecialty: null,
      hidden: false,
      supportedReasoningEfforts: EFFORTS,
      defaultReasoningEffort: 'medium',
      inputModalities: ['text', 'image'],
      supportsPersonality: false,
      multiAgentVersion: null,
      additionalSpeedTiers: [],
      serviceTiers: [],
      defaultServiceTier: null,
      availableAccessPrograms: null,
      isDefault: slug === chosen,
    }
  })
}
