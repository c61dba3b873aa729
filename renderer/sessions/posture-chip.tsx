/** What a session is doing, as a word. Only "waits for you" has the accent colour. */
import type { ReactNode } from 'react'
import type { Posture } from '../../preload/api.ts'
import { Chip, type ChipTone } from '../components/chip.tsx'
import type { IconName } from '../components/icon.tsx'

export const POSTURE_WORDS: Record<Posture, string> = {
  waits: 'waits for you',
  working: 'working',
  idle: 'idle',
  ended: 'ended',
  failed: 'failed',
}
/** In the order in which they matter to the owner. */
export const POSTURES: readonly Posture[] = ['waits', 'working', 'idle', 'ended', 'failed']

const TONES: Record<Posture, ChipTone> = {
  waits: 'accent',
  working: 'neutral',
  idle: 'neutral',
  ended: 'neutral',
  failed: 'deny',
}
const ICONS: Partial<Record<Posture, IconName>> = { waits: 'question', failed: 'warning' }

export function PostureChip({ posture }: { posture: Posture }): ReactNode {
  return (
    <Chip tone={TONES[posture]} icon={ICONS[posture]}>
      {POSTURE_WORDS[posture]}
    </Chip>
  )
}
