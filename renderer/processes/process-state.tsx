/** The state of a process as a word and a shape. */
import type { ReactNode } from 'react'
import type { ProcessView } from '../../preload/api.ts'
import { selectRequestOfStart } from '../approvals/selectors.ts'
import { Chip } from '../components/chip.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import { endedWell, exitWords } from './selectors.ts'

type StateFacts = Pick<ProcessView, 'id' | 'state' | 'pid' | 'exitCode' | 'exitSignal'>

export function ProcessState({ process }: { process: StateFacts }): ReactNode {
  const waits = useFeed((state) => selectRequestOfStart(state, process) !== null)
  if (waits)
    return (
      <Chip tone="accent" icon="question">
        waits for you
      </Chip>
    )
  if (process.state === 'starting') return <Chip icon="clock">starting</Chip>
  if (process.state === 'running') return <Chip tone="allow">running</Chip>
  // Exited but not closed: something it started still holds its output open.
  if (process.state === 'exited') return <Chip tone="warn">{exitWords(process)}, output open</Chip>
  return <Chip tone={endedWell(process) ? 'neutral' : 'deny'}>{exitWords(process)}</Chip>
}
