import { randomBytes } from 'node:crypto'
import type { LeaseId, SessionId } from '../../sidecars/protocol/ids.ts'
import { isSameProcess, readProcessIdentity, type ProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { Leases } from '../egress/leases.ts'
import type { Sessions } from '../sessions/sessions.ts'

/** A closed terminal may stay in the list for so long; nobody waits for it. */
const LOOK_INTERVAL_MS = 2_000

export interface ShellsOptions {
  sessions: Pick<Sessions, 'open' | 'close'>
  leases: Pick<Leases, 'grant' | 'revoke'>
}

interface OpenShell {
  identity: ProcessIdentity
  leaseId: LeaseId
}

/** Terminals of the owner that go through the proxy (`gatehouse env`): each a session until its shell ends. */
export class Shells {
  private readonly shells = new Map<SessionId, OpenShell>()
  private timer: NodeJS.Timeout | undefined

  constructor(private readonly options: ShellsOptions) {}

  /**
   * Proxy variables for the shell `pid`. Rejects with `notFound` when there is no such process, with
   * `unavailable` when there is no proxy.
   */
  async environment({ cwd, pid }: { cwd: string; pid: number }): Promise<Record<string, string>> {
    const { sessions, leases } = this.options
    const identity = await readProcessIdentity(pid)
    if (!identity) throw new RpcError('notFound', `pid: there is no process ${pid}`)
    const sessionId = `ses_${randomBytes(8).toString('hex')}` as SessionId
    const title = `terminal, shell ${pid}`
    const { leaseId, environment } = await leases.grant({ sessionId, command: title }, new AbortController().signal)
    sessions.open(
      { id: sessionId, agentName: 'You', title, cwd, pid, via: 'command-line', openedAtMs: Date.now() },
      null,
    )
    this.shells.set(sessionId, { identity, leaseId })
    this.timer ??= setInterval(() => void this.look(), LOOK_INTERVAL_MS).unref()
    return environment
  }

  /** Stops looking. The leases end with the proxy. */
  stop(): void {
    clearInterval(this.timer)
    for (const sessionId of this.shells.keys()) this.options.sessions.close(sessionId, 'Gatehouse stops')
    this.shells.clear()
  }

  private async look(): Promise<void> {
    for (const [sessionId, { identity, leaseId }] of this.shells) {
      if ((await isSameProcess(identity)) || !this.shells.delete(sessionId)) continue
      this.options.sessions.close(sessionId, 'the shell ended')
      await this.options.leases.revoke(leaseId)
    }
  }
}
