import { unknown } from '../../sidecars/protocol/decode.ts'
import {
  HOST_PROTOCOL_VERSION,
  initializeResult,
  type InitializeParams,
  type InitializeResult,
  type SidecarName,
} from '../../sidecars/protocol/host-channel.ts'
import { RpcPeer, type RpcProblem } from '../../sidecars/rpc/peer.ts'
import {
  descendantsOf,
  readProcessIdentity,
  readProcessTable,
  signalProcess,
  type ProcessIdentity,
} from '../../sidecars/rpc/process-identity.ts'
import type { SidecarChild } from './launcher.ts'
import { filterAlive, type Ledger } from './ledger.ts'
import type { SupervisorTiming } from './timing.ts'
import { settlesWithin, waitFor } from './wait-for.ts'

export interface GenerationOptions {
  name: SidecarName
  timing: SupervisorTiming
  ledger: Ledger
  /** Registers the host's handlers before the first message is read. */
  prepare: (peer: RpcPeer) => void
  onProblem: (problem: RpcProblem) => void
}

/** One life of a sidecar: handshake, health, stop. Owns the process and the channel to it. */
export class SidecarGeneration {
  readonly peer: RpcPeer
  /** Why it is over; resolves after the process and everything recorded below it are gone. */
  readonly ended: Promise<string>
  private identity: ProcessIdentity | undefined
  private killedBecause: string | undefined
  private isReady = false
  private pinger: NodeJS.Timeout | undefined

  constructor(
    private readonly child: SidecarChild,
    private readonly options: GenerationOptions,
  ) {
    this.peer = new RpcPeer(child.transport, { onProblem: options.onProblem })
    options.prepare(this.peer)
    this.peer.start()
    void this.peer.closed.then(() => this.channelClosed())
    this.ended = this.waitForEnd()
  }

  get pid(): number {
    return this.child.pid
  }

  /**
   * Greets the sidecar. Throws with the reason when it answers with an error, answers wrongly or does
   * not answer in time; it is killed then.
   */
  async handshake(params: InitializeParams): Promise<InitializeResult> {
    const { name, timing, ledger } = this.options
    this.identity = await readProcessIdentity(this.pid)
    if (this.identity) ledger.add({ name, role: 'leader', ...this.identity })
    try {
      const result = await this.peer.request('sidecar/initialize', params, initializeResult, {
        timeoutMs: timing.handshakeMs,
      })
      if (result.protocolVersion !== HOST_PROTOCOL_VERSION || result.name !== name)
        throw new Error(
          `expected ${name} with host protocol ${HOST_PROTOCOL_VERSION}, got ${result.name} with ${result.protocolVersion}; reinstall Gatehouse so that all parts match`,
        )
      this.isReady = true
      this.pinger = setInterval(() => void this.checkHealth(), timing.pingIntervalMs)
      return result
    } catch (error) {
      // A channel that closed first says nothing; how the process ends does.
      if (!this.peer.isClosed) this.kill(`did not start: ${(error as Error).message}`)
      throw error
    }
  }

  /** Asks it to shut down, then insists: SIGTERM, SIGKILL to the group, then what was recorded below it. */
  async stop(deadlineMs: number): Promise<void> {
    const { killGraceMs, descendantGraceMs } = this.options.timing
    this.killedBecause ??= 'was stopped'
    const startedAtMs = Date.now()
    await this.recordDescendants()
    if (this.isReady) {
      const spentMs = Date.now() - startedAtMs
      const shutdownMs = Math.max(0, deadlineMs - 3 * killGraceMs - descendantGraceMs - spentMs)
      await this.peer
        .request('sidecar/shutdown', { deadlineMs: Math.floor(shutdownMs * 0.9) }, unknown, { timeoutMs: shutdownMs })
        // Whatever the answer, the signals below have the last word.
        .catch(() => {})
      this.peer.close('the host stops')
    }
    if (!(await settlesWithin(this.child.exited, this.isReady ? killGraceMs : 0))) this.child.kill('SIGTERM')
    if (!(await settlesWithin(this.child.exited, killGraceMs))) this.child.kill('SIGKILL')
    await settlesWithin(this.ended, descendantGraceMs + killGraceMs)
  }

  /** Ends it at once; `because` becomes the reason of its end. */
  kill(because: string): void {
    this.killedBecause ??= because
    this.child.kill('SIGKILL')
  }

  private async waitForEnd(): Promise<string> {
    const exit = await this.child.exited
    clearInterval(this.pinger)
    this.peer.close(exit.reason)
    await this.endDescendants()
    if (this.identity) this.options.ledger.remove(this.identity)
    return this.killedBecause ?? exit.reason
  }

  /** A sidecar that closed its channel is of no use, even if it lives on. */
  private async channelClosed(): Promise<void> {
    if (!(await settlesWithin(this.child.exited, 4 * this.options.timing.killGraceMs)))
      this.kill('closed its channel and did not exit')
  }

  private async checkHealth(): Promise<void> {
    await this.recordDescendants()
    const { pingTimeoutMs } = this.options.timing
    const answered = await this.peer.request('sidecar/ping', {}, unknown, { timeoutMs: pingTimeoutMs }).then(
      () => true,
      () => false,
    )
    if (!answered && !this.peer.isClosed) this.kill(`did not answer for ${Math.round(pingTimeoutMs / 1000)} s`)
  }

  /** Once it is dead its children have another parent, so they are written down while it lives. */
  private async recordDescendants(): Promise<void> {
    const { name, ledger } = this.options
    const below = descendantsOf(this.pid, await readProcessTable())
    for (const { pid, startedAt } of below) ledger.add({ name, role: 'descendant', pid, startedAt })
    const known = ledger.descendants(name)
    const alive = await filterAlive(known)
    for (const entry of known) if (!alive.includes(entry)) ledger.remove(entry)
  }

  /** A sidecar may leave a watchdog that ends what it had started: that one goes first. */
  private async endDescendants(): Promise<void> {
    const { name, ledger, timing } = this.options
    const left = ledger.descendants(name)
    const noneIsLeft = async () => (await filterAlive(left)).length === 0
    await waitFor(noneIsLeft, timing.descendantGraceMs)
    for (const entry of await filterAlive(left)) await signalProcess(entry, 'SIGKILL')
    // A killed process ends when the system gets round to it; one that does not is the next start's to find.
    await waitFor(noneIsLeft, timing.killGraceMs)
    const stillAlive = await filterAlive(left)
    for (const entry of left) if (!stillAlive.includes(entry)) ledger.remove(entry)
  }
}
