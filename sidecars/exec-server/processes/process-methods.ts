import {
  processReadParams,
  processSignalParams,
  processStartParams,
  processTerminateParams,
  processWriteParams,
} from '../../protocol/exec-process.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import { Base64Error } from '../wire/base64-text.ts'
import type { MethodTable } from '../wire/method-table.ts'
import { WireError } from '../wire/wire-error.ts'
import { readProcess } from './process-read.ts'
import type { ProcessStarter } from './process-starter.ts'
import type { ProcessStopper } from './process-stopper.ts'

export interface ProcessMethodParts {
  sessions: SessionStore
  starter: ProcessStarter
  stopper: ProcessStopper
}

/** `process/*` of the wire. */
export function registerProcessMethods(methods: MethodTable, { sessions, starter, stopper }: ProcessMethodParts): void {
  methods
    .register('process/start', 'exec', processStartParams, (params, connection) =>
      starter.start(params, sessions.of(connection), connection),
    )
    .register('process/read', 'exec', processReadParams, (params, connection) =>
      readProcess(params, sessions.of(connection), connection.signal),
    )
    .register(
      'process/write',
      'exec',
      processWriteParams,
      ({ processId, writeId, closeStdin }, connection, chunk) => {
        if (writeId === '') throw new WireError('invalidParams', 'writeId must not be empty')
        const process = sessions.of(connection).find(processId)
        if (!process) return { status: 'unknownProcess' }
        if (process.state === 'starting') return { status: 'starting' }
        if (process.stdin === 'none') return { status: 'stdinClosed' }
        let bytes: Buffer
        try {
          bytes = chunk.decode()
        } catch (error) {
          if (!(error instanceof Base64Error)) throw error
          throw new WireError('invalidParams', `chunk: ${error.message}`)
        }
        if (process.writeIds.accept(writeId)) {
          if (bytes.length > 0) process.write(bytes)
          if (closeStdin) process.endInput()
        }
        return { status: 'accepted' }
      },
      { bulkMember: 'chunk' },
    )
    .register('process/signal', 'exec', processSignalParams, ({ processId }, connection) => {
      const process = sessions.of(connection).find(processId)
      if (process) stopper.interrupt(process)
      return {}
    })
    .register('process/terminate', 'exec', processTerminateParams, ({ processId }, connection) => {
      const process = sessions.of(connection).find(processId)
      return { running: process ? stopper.terminate(process) : false }
    })
}
