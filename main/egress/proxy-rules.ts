import type { NetworkRule } from '../../sidecars/protocol/host-channel.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'

export interface ProxyRulesOptions {
  /** Sends rules to the proxy; resolves with the revision that it has in force. */
  setRules(revision: number, rules: NetworkRule[]): Promise<number>
  /** What is not applied, or null again; shown beside the rules. */
  onState(notApplied: string | null): void
}

const BEING_TOLD = 'the network proxy is being told'

/**
 * Keeps the proxy's rules equal to ours. Each change is a revision that counts as in force once the proxy
 * has acknowledged it; until then, and while there is no proxy, the rules are shown as not applied.
 */
export class ProxyRules {
  private rules: NetworkRule[] = []
  private revision = 0
  private inForce = -1
  /** Revision that the life of the proxy that comes next, or runs, was started with. */
  private startedWith = -1
  private isReady = false
  private pushing: Promise<void> | undefined
  private problem: string | null = 'the network proxy is not running'
  private waiters: { revision: number; settle(error?: RpcError): void }[] = []

  constructor(private readonly options: ProxyRulesOptions) {}

  /** Why the newest rules are not in force; null when they are. */
  get notApplied(): string | null {
    return this.problem
  }

  /** For the configuration of a proxy that is about to start. */
  forStart(): { rules: NetworkRule[]; revision: number } {
    this.startedWith = this.revision
    return { rules: this.rules, revision: this.revision }
  }

  /** Takes the rules as they are now; sends them when they differ from the last ones. */
  update(rules: NetworkRule[]): void {
    if (JSON.stringify(rules) === JSON.stringify(this.rules)) return
    this.rules = rules
    this.revision += 1
    if (this.isReady) this.setProblem(BEING_TOLD)
    this.push()
  }

  /** The proxy that was started with `forStart` is ready. */
  proxyReady(): void {
    this.isReady = true
    this.acknowledge(this.startedWith)
    this.push()
  }

  proxyGone(reason: string): void {
    this.isReady = false
    this.inForce = -1
    this.setProblem(reason)
    for (const waiter of this.waiters.splice(0)) waiter.settle(new RpcError('unavailable', reason))
  }

  /** Resolves when everything up to now is in force. Rejects with `unavailable` or `timedOut`. */
  applied(timeoutMs: number): Promise<void> {
    const { revision } = this
    if (this.inForce >= revision) return Promise.resolve()
    if (!this.isReady)
      return Promise.reject(new RpcError('unavailable', this.problem ?? 'the network proxy is not running'))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => waiter.settle(new RpcError('timedOut', 'the network proxy did not acknowledge the rules')),
        timeoutMs,
      )
      const waiter = {
        revision,
        settle: (error?: RpcError) => {
          clearTimeout(timer)
          this.waiters = this.waiters.filter((other) => other !== waiter)
          if (error) reject(error)
          else resolve()
        },
      }
      this.waiters.push(waiter)
    })
  }

  private push(): void {
    if (!this.isReady || this.inForce >= this.revision) return
    this.pushing ??= this.pushAll().finally(() => (this.pushing = undefined))
  }

  private async pushAll(): Promise<void> {
    while (this.isReady && this.inForce < this.revision) {
      const { revision, rules } = this
      try {
        this.acknowledge(await this.options.setRules(revision, rules))
      } catch (error) {
        // A proxy that went away is told about by `proxyGone`; one that refuses keeps its old rules.
        if (this.isReady) this.setProblem(`the network proxy refused them: ${(error as Error).message}`)
        return
      }
    }
  }

  private acknowledge(revision: number): void {
    this.inForce = Math.max(this.inForce, revision)
    this.setProblem(this.inForce >= this.revision ? null : BEING_TOLD)
    for (const waiter of this.waiters.filter((other) => other.revision <= this.inForce)) waiter.settle()
  }

  private setProblem(problem: string | null): void {
    if (problem === this.problem) return
    this.problem = problem
    this.options.onState(problem)
  }
}
