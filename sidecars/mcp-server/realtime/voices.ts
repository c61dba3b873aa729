/** Voices of realtime conversations by version of the protocol, known without a network. */
export const V1_VOICES = ['juniper', 'maple', 'spruce', 'ember', 'vale', 'breeze', 'arbor', 'sol', 'cove'] as const
export const V2_VOICES = [
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'sage',
  'shimmer',
  'verse',
  'marin',
  'cedar',
] as const
export const V3_VOICES = [...V1_VOICES, 'marin'] as const

/** As `thread/realtime/listVoices` answers. */
export const REALTIME_VOICES = { v1: V1_VOICES, v2: V2_VOICES, v3: V3_VOICES, defaultV1: 'cove', defaultV2: 'marin' }
