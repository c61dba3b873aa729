import type { Readable, Writable } from 'node:stream'
import { LineSplitter } from '../../rpc/line-splitter.ts'
import { readRefusal } from './attach-line.ts'
import { RelayLedger, refusalOf } from './relay-ledger.ts'
import { attach, explain, type AttachPoint, type Upstream } from './upstream.ts'

export interface RelayOptions {
  agent: { input: Readable; output: Writable; cwd: string; pid: number }
  /** The host that runs now, or null. */
  findHost: () => Promise<AttachPoint | null>
  /**
   * Starts a host and waits until it can be attached to. Rejects with why there is none, for people;
   * `signal` fires when nobody waits any more.
   */
  startHost: (signal: AbortSignal) => Promise<AttachPoint>
  /** One sentence for the owner, on stderr. */
  log: (message: string) => void
  /** How long a host that went away in mid-session is waited for. Default 8 s. */
  returnLimitMs?: number
}

const RETURN_LIMIT_MS = 8_000
const RETRY_MS = 100
/** While an explanation stands in: how often a host is looked for. */
const LOOK_AGAIN_MS = 1_000
/** After the agent has closed its end: how long last answers may take. */
const LAST_ANSWERS_MS = 2_000
/** An agent that says more before anybody listens is held back. */
const MAX_WAITING_LENGTH = 1024 * 1024
const WENT_AWAY = 'Gatehouse went away while this call was under way; whether it took effect is not known.'

/**
 * Carries one agent's MCP over its stdio to the running host, and goes on when the host changes: the
 * handshake is repeated, calls that were under way are answered with an error. Without a host it
 * explains, and moves over as soon as there is one.
 */
export class Relay {
  private readonly ledger = new RelayLedger()
  private readonly ended: Promise<void>
  private upstream: Upstream | null = null
  /** Lines of the agent that came before there was anybody to take them. */
  private waiting: string[] = []
  private waitingLength = 0
  private isReady = false
  private agentLeft = false
  private readonly over = new AbortController()
  private reason = ''
  private lookAgain: NodeJS.Timeout | undefined
  private resolveEnded: () => void = () => {}

  constructor(private readonly options: RelayOptions) {
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve))
  }

  /** Resolves when the agent has left, after `stop`, or when its streams fail. */
  async run(): Promise<void> {
    this.listenToAgent()
    void this.connectFirst()
    await this.ended
  }

  /** Ends at once; what was under way ends with the connection. */
  stop(): void {
    if (this.isOver) return
    this.over.abort()
    clearTimeout(this.lookAgain)
    this.upstream?.destroy()
    this.resolveEnded()
  }

  private get isOver(): boolean {
    return this.over.signal.aborted
  }

  private listenToAgent(): void {
    const { input, output } = this.options.agent
    const splitter = new LineSplitter()
    input.on('data', (chunk: Buffer) => {
      for (const line of splitter.push(chunk)) this.takeFromAgent(line)
    })
    input.on('end', () => {
      for (const line of splitter.end()) this.takeFromAgent(line)
      this.agentLeft = true
      if (this.isReady) this.upstream?.output.end()
      setTimeout(() => this.stop(), LAST_ANSWERS_MS).unref()
      if (!this.isReady && this.waiting.length === 0) this.stop()
    })
    input.on('error', () => this.stop())
    output.on('error', () => this.stop())
  }

  private takeFromAgent(line: ReturnType<LineSplitter['push']>[number]): void {
    if ('problem' in line) {
      this.options.log(line.problem.message)
      this.toAgent(refusalOf(line.problem.message))
    } else if (this.ledger.fromAgent(line.text)) {
      if (this.isReady && this.upstream) this.toUpstream(this.upstream, line.text)
      else this.keepWaiting(line.text)
    }
  }

  private keepWaiting(line: string): void {
    this.waiting.push(line)
    this.waitingLength += line.length
    if (this.waitingLength > MAX_WAITING_LENGTH) this.options.agent.input.pause()
  }

  private async connectFirst(): Promise<void> {
    try {
      // One that is alive and cannot be attached to yet is just starting.
      const isRunning = await this.options.findHost().catch(() => null)
      const upstream = isRunning ? await this.attachWithinLimit() : null
      await this.adopt(upstream ?? (await this.attach(await this.options.startHost(this.over.signal))))
    } catch (error) {
      await this.explainUntilHost(error instanceof Error ? error.message : String(error))
    }
  }

  private attach(point: AttachPoint): Promise<Upstream> {
    const { cwd, pid } = this.options.agent
    return attach(point, { cwd, pid })
  }

  /** Takes an upstream into use: repeats the handshake, then lets the agent's lines through. */
  private async adopt(upstream: Upstream): Promise<void> {
    if (this.isOver) return upstream.destroy()
    this.upstream = upstream
    this.listenToUpstream(upstream)
    const isRepeated = await this.ledger.replay((line) => this.toUpstream(upstream, line))
    if (this.upstream !== upstream) return
    this.isReady = true
    const held = this.waiting
    this.waiting = []
    this.waitingLength = 0
    this.options.agent.input.resume()
    for (const line of held) if (!this.ledger.isHandshake(line)) this.toUpstream(upstream, line)
    if (isRepeated) this.toAgent('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    if (this.agentLeft) upstream.output.end()
  }

  private listenToUpstream(upstream: Upstream): void {
    const splitter = new LineSplitter()
    let refusal: string | null = null
    upstream.input.on('data', (chunk: Buffer) => {
      for (const line of splitter.push(chunk)) {
        if ('problem' in line) this.options.log(line.problem.message)
        else if ((refusal ??= readRefusal(line.text)) === null && this.ledger.fromHost(line.text))
          this.toAgent(line.text, upstream)
      }
    })
    const gone = () => {
      if (this.upstream === upstream) void this.upstreamGone(upstream, refusal)
    }
    upstream.input.on('end', gone)
    upstream.input.on('close', gone)
    upstream.input.on('error', gone)
    upstream.output.on('error', gone)
  }

  private async upstreamGone(upstream: Upstream, refusal: string | null): Promise<void> {
    this.upstream = null
    this.isReady = false
    upstream.destroy()
    if (this.isOver) return
    if (this.agentLeft) return this.stop()
    for (const answer of this.ledger.abandon(WENT_AWAY)) this.toAgent(answer)
    this.options.log(
      refusal === null ? 'the host went away; waiting for it to come back' : `the host refused: ${refusal}`,
    )
    const next = await this.attachWithinLimit()
    if (next) return await this.adopt(next)
    await this.explainUntilHost(
      refusal ??
        'It was closed. Open Gatehouse again or run `gatehouse serve`; this connection then goes on by itself.',
    )
  }

  private async attachWithinLimit(): Promise<Upstream | null> {
    const deadlineMs = performance.now() + (this.options.returnLimitMs ?? RETURN_LIMIT_MS)
    while (!this.isOver && performance.now() < deadlineMs) {
      const upstream = await this.tryAttach()
      if (upstream) return upstream
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
    return null
  }

  /** Null when there is no host, or it is just ending or starting. */
  private async tryAttach(): Promise<Upstream | null> {
    try {
      const found = await this.options.findHost()
      return found && (await this.attach(found))
    } catch {
      return null
    }
  }

  private async explainUntilHost(reason: string): Promise<void> {
    if (this.isOver) return
    this.reason = reason
    this.options.log(reason)
    const explanation = await explain(() => this.reason)
    await this.adopt(explanation)
    const look = async () => {
      const host = await this.tryAttach()
      if (!host) this.lookAgain = setTimeout(() => void look(), LOOK_AGAIN_MS)
      else if (this.isOver) host.destroy()
      else await this.replace(explanation, host)
    }
    this.lookAgain = setTimeout(() => void look(), LOOK_AGAIN_MS)
  }

  private async replace(explanation: Upstream, host: Upstream): Promise<void> {
    this.upstream = null
    this.isReady = false
    explanation.destroy()
    for (const answer of this.ledger.abandon(WENT_AWAY)) this.toAgent(answer)
    this.options.log('connected to the host')
    await this.adopt(host)
  }

  private toUpstream(upstream: Upstream, line: string): void {
    const { input } = this.options.agent
    if (upstream.output.write(`${line}\n`) || input.isPaused()) return
    input.pause()
    const resume = () => input.resume()
    upstream.output.once('drain', resume)
    upstream.output.once('close', resume)
  }

  private toAgent(line: string, from?: Upstream): void {
    const { output } = this.options.agent
    if (output.write(`${line}\n`) || !from || from.input.isPaused()) return
    from.input.pause()
    output.once('drain', () => from.input.resume())
  }
}
