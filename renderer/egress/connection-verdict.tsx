/** What became of a connection: a word, a shape, a colour. */
import type { ReactNode } from 'react'
import type { ConnectionView } from '../../preload/api.ts'
import { Chip, type ChipTone } from '../components/chip.tsx'
import type { IconName } from '../components/icon.tsx'
import { verdictOf, type Verdict } from './selectors.ts'

const LOOKS: Record<Verdict, { tone: ChipTone; icon: IconName }> = {
  allowed: { tone: 'allow', icon: 'check' },
  asked: { tone: 'accent', icon: 'question' },
  blocked: { tone: 'deny', icon: 'blocked' },
  failed: { tone: 'warn', icon: 'warning' },
}

export function ConnectionVerdict({ connection }: { connection: ConnectionView }): ReactNode {
  const verdict = verdictOf(connection)
  return (
    <Chip {...LOOKS[verdict]}>
      {verdict === 'asked' ? 'waits for you' : verdict}
      {connection.count > 1 && ` ×${connection.count}`}
    </Chip>
  )
}
