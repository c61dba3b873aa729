import type { RpcPeer } from '../../sidecars/rpc/peer.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { runResize, runSignal, runStart, runTarget, runWrite } from './control-protocol.ts'
import type { ControlledHost, RunHandle } from './controlled-host.ts'

/** Serves `run/…` to one client. Its runs end with its connection. */
export function serveRuns(peer: RpcPeer, host: ControlledHost): void {
  const runs = new Map<string, RunHandle>()
  const taken = new Set<string>()

  const find = (runId: string): RunHandle => {
    const run = runs.get(runId)
    if (!run) throw new RpcError('notFound', `params.runId: there is no run ${runId} on this connection`)
    return run
  }

  peer.onRequest('run/start', runStart, async ({ runId, ...request }, { signal }) => {
    if (request.argv.length === 0) throw new RpcError('invalidParams', 'params.argv: expected a program to run')
    if (taken.has(runId)) throw new RpcError('invalidParams', `params.runId: ${runId} is in use`)
    taken.add(runId)
    try {
      const run = await host.startRun(
        { ...request, signal },
        {
          output: async (stream, bytes) => {
            const base64 = Buffer.from(bytes).toString('base64')
            // The client is slow: so are we, and with us the process.
            if (!peer.notify('run/output', { runId, stream, base64 })) await peer.drained()
          },
        },
      )
      runs.set(runId, run)
      void run.closed
        .then(
          (end) => peer.notify('run/exited', { runId, ...end }),
          (error: Error) =>
            peer.notify('run/exited', { runId, exitCode: null, exitSignal: null, detail: error.message }),
        )
        .finally(() => {
          runs.delete(runId)
          taken.delete(runId)
        })
      // It was started although the client left in the meantime.
      if (peer.isClosed) abandon(run)
      return { processId: run.processId, sessionId: run.sessionId }
    } catch (error) {
      taken.delete(runId)
      throw error
    }
  })
  peer.onRequest('run/write', runWrite, async ({ runId, base64 }) => {
    await find(runId).write(Buffer.from(base64, 'base64'))
    return {}
  })
  peer.onRequest('run/endInput', runTarget, async ({ runId }) => {
    await find(runId).endInput()
    return {}
  })
  peer.onRequest('run/signal', runSignal, async ({ runId, signal }) => {
    await find(runId).signal(signal)
    return {}
  })
  peer.onRequest('run/resize', runResize, async ({ runId, columns, rows }) => {
    await find(runId).resize(columns, rows)
    return {}
  })
  void peer.closed.then(() => {
    for (const run of runs.values()) abandon(run)
  })
}

/** Nobody sees its output any more. What cannot be delivered means that it is gone already. */
function abandon(run: RunHandle): void {
  run.signal('terminate').catch(() => {})
}
