/** A host for tests: answers each channel from a script, records what was asked, and emits batches on demand. */
import type {
  EventChannel,
  Events,
  FeedBatch,
  FeedDelta,
  FeedSnapshot,
  GatehouseApi,
  InvokeChannel,
  Invokes,
  Outcome,
} from '../../preload/api.ts'
import { snapshot } from './view-fixtures.ts'

export type Script = {
  [C in InvokeChannel]?: (
    ...args: Invokes[C]['args']
  ) => Outcome<Invokes[C]['result']> | Promise<Outcome<Invokes[C]['result']>>
}

export class ScriptedHost {
  readonly calls: { channel: InvokeChannel; args: readonly unknown[] }[] = []
  private readonly listeners = new Map<EventChannel, Set<(payload: never) => void>>()
  private rev: number

  constructor(
    public current: FeedSnapshot = snapshot(),
    readonly script: Script = {},
  ) {
    this.rev = current.rev
  }

  readonly api: GatehouseApi = {
    invoke: async <C extends InvokeChannel>(channel: C, ...args: Invokes[C]['args']) => {
      this.calls.push({ channel, args })
      const answer = this.script[channel] as ((...args: Invokes[C]['args']) => unknown) | undefined
      if (answer) return (await answer(...args)) as Outcome<Invokes[C]['result']>
      if (channel === 'feed.snapshot') return { ok: true, value: this.current } as Outcome<Invokes[C]['result']>
      return { ok: false, code: 'methodNotFound', message: `the script has no answer for ${channel}` }
    },
    on: (event, listener) => {
      const set = this.listeners.get(event) ?? new Set()
      this.listeners.set(event, set)
      set.add(listener as (payload: never) => void)
      return () => void set.delete(listener as (payload: never) => void)
    },
  }

  callsOf<C extends InvokeChannel>(channel: C): Invokes[C]['args'][] {
    return this.calls.filter((call) => call.channel === channel).map((call) => call.args as Invokes[C]['args'])
  }

  /** The next batch in order. */
  push(...deltas: FeedDelta[]): void {
    this.rev += 1
    this.emit('feed.batch', { rev: this.rev, deltas })
  }

  /** A batch with a revision of the test's choosing. */
  pushAt(batch: FeedBatch): void {
    this.rev = batch.rev
    this.emit('feed.batch', batch)
  }

  emit<E extends EventChannel>(event: E, payload: Events[E]): void {
    for (const listener of this.listeners.get(event) ?? []) (listener as (payload: Events[E]) => void)(payload)
  }

  listenerCount(): number {
    return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0)
  }
}
