import {
  processReadParams,
  processResizeParams,
  processSignalParams,
  processStartParams,
  processTerminateParams,
  processWriteParams,
} from '../../protocol/exec-process.ts'
import type { ProcessStopper } from '../life/process-stopper.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { MethodTable } from '../wire/method-table.ts'
import { readProcess } from './process-read.ts'
import type { ProcessStarter } from './process-starter.ts'
import { writeProcess } from './process-write.ts'

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
      (params, connection, chunk) => writeProcess(params, sessions.of(connection), chunk),
      { bulkMember: 'chunk' },
    )
    .register('process/signal', 'exec', processSignalParams, ({ processId }, connection) => {
      const process = sessions.of(connection).find(processId)
      if (process) stopper.interrupt(process)
      return {}
    })
    .register('process/resize', 'exec', processResizeParams, ({ processId, columns, rows }, connection) => {
      sessions.of(connection).find(processId)?.resize(columns, rows)
      return {}
    })
    .register('process/terminate', 'exec', processTerminateParams, ({ processId }, connection) => {
      const process = sessions.of(connection).find(processId)
      return { running: process ? stopper.terminate(process) : false }
    })
}
