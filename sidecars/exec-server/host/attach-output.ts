import { decode, integer, literal, object, withDefault } from '../../protocol/decode.ts'
import { processId } from '../../protocol/ids.ts'
import type { OutputPortFromServer } from '../../protocol/output-port.ts'
import type { PortLike } from '../../rpc/sidecar.ts'
import type { ProcessTable } from '../processes/process-table.ts'
import { OutputPortFeed } from './output-port-feed.ts'

const attachOutput = object({
  type: literal('attachOutput'),
  processId,
  afterSeq: withDefault(integer(0), 0),
})

/** Serves a port that the host hands over for the output of one process. */
export function serveOutputPort(table: ProcessTable, message: unknown, port: PortLike): void {
  const fail = (reason: string) => {
    port.start()
    port.postMessage({ type: 'failed', message: reason } satisfies OutputPortFromServer)
  }
  try {
    const { processId: id, afterSeq } = decode(attachOutput, message, 'message')
    const process = table.find(id)
    if (process) new OutputPortFeed(process, port, afterSeq).start()
    else fail(`process ${id} is not known any more`)
  } catch (error) {
    fail((error as Error).message)
  }
}
