import type { Infer } from '../../protocol/decode.ts'
import type { processWriteParams, WriteStatus } from '../../protocol/exec-process.ts'
import { stayAwake } from '../../tcp/stay-awake.ts'
import type { Session } from '../sessions/session.ts'
import { Base64Error, type Base64Text } from '../wire/base64-text.ts'
import { WireError } from '../wire/wire-error.ts'
import type { ManagedProcess } from './managed-process.ts'
import { LineTooLongError } from './pty-input.ts'

/**
 * `process/write`. A write id that was accepted before is acknowledged and not written again, also when
 * the first answer never reached the client.
 */
export function writeProcess(
  { processId, writeId, closeStdin }: Infer<typeof processWriteParams>,
  session: Session,
  chunk: Base64Text,
): { status: WriteStatus } | Promise<{ status: WriteStatus }> {
  if (writeId === '') throw new WireError('invalidParams', 'writeId must not be empty')
  const bytes = decoded(chunk)
  const process = session.find(processId)
  if (!process) return { status: 'unknownProcess' }
  if (process.state === 'starting') return { status: 'starting' }
  if (process.stdin === 'none') return { status: 'stdinClosed' }
  if (process.writeIds.has(writeId)) return ACCEPTED
  if (process.isInputEnded) return { status: 'stdinClosed' }
  process.writeIds.add(writeId)
  const pending = bytes.length > 0 ? process.write(bytes) : undefined
  if (bytes.length <= TYPED_BYTES) stayAwake(ECHO_MS)
  if (closeStdin) process.endInput()
  return pending ? afterwards(pending, process, writeId) : ACCEPTED
}

/** More is no input that somebody waits for the echo of. */
const TYPED_BYTES = 4 * 1024
/** The echo of a terminal takes 0.2 ms: four wake-ups, two of which are the system's. */
const ECHO_MS = 0.3

const ACCEPTED = { status: 'accepted' } as const

async function afterwards(pending: Promise<void>, process: ManagedProcess, writeId: string) {
  try {
    await pending
    return ACCEPTED
  } catch (error) {
    process.writeIds.remove(writeId)
    if (!(error instanceof LineTooLongError)) throw error
    throw new WireError('invalidRequest', error.message, { kind: 'lineTooLong', lineBytes: error.lineBytes })
  }
}

function decoded(chunk: Base64Text): Buffer {
  try {
    return chunk.decode()
  } catch (error) {
    if (!(error instanceof Base64Error)) throw error
    throw new WireError('invalidParams', `chunk: ${error.message}`)
  }
}
