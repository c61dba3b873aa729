/** Voices of realtime conversations by version of the protocol, known without a network. */
const V1 = ['juniper', 'maple', 'spruce', 'ember', 'vale', 'breeze', 'arbor', 'sol', 'cove']
const V2 = ['alloy', 'ash', 'ballad', 'coral', 'echo', 'sage', 'shimmer', 'verse', 'marin', 'cedar']
export const DEFAULT_VOICE = 'marin'

/** As `thread/realtime/listVoices` answers. Conversations here speak version 2. */
export const REALTIME_VOICES = { v1: V1, v2: V2, v3: [...V1, 'marin'], defaultV1: 'cove', defaultV2: DEFAULT_VOICE }

export const isVoice = (name: string): boolean => V2.includes(name)
