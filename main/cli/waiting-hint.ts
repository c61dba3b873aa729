import type { ApprovalView } from '../../preload/api.ts'
import type { ControlClient } from '../control/control-client.ts'
import { subjectLine } from './describe-subject.ts'
import { LINE_LIMIT, shortened } from './print.ts'

/** Who sits at the window has answered by then. */
const PATIENCE_MS = 2_000

/**
 * Says what a session waits for, each request once: without a window a command that asks for a host would
 * only seem to hang. Ends with the connection.
 */
export async function tellWhatWaits(
  client: Pick<ControlClient, 'subscribe'>,
  sessionId: string,
  say: (line: string) => void,
): Promise<void> {
  const waiting = new Map<string, NodeJS.Timeout>()
  let commandLine = 'gatehouse'
  const look = (id: string, approval: ApprovalView | null): void => {
    const isOurs = approval?.state === 'pending' && approval.sessionId === sessionId
    if (!isOurs) {
      clearTimeout(waiting.get(id))
      return
    }
    if (waiting.has(id)) return
    const line = `${shortened(subjectLine(approval.subject), LINE_LIMIT)} waits for your answer: ${commandLine} approve ${id} (or deny)`
    waiting.set(id, setTimeout(say, PATIENCE_MS, line).unref())
  }
  await client.subscribe(
    ({ tables, host }) => {
      commandLine = host.commandLine
      for (const approval of Object.values(tables.approvals)) look(approval.id, approval)
    },
    ({ deltas }) => {
      for (const delta of deltas) if ('table' in delta && delta.table === 'approvals') look(delta.key, delta.value)
    },
  )
}
