/** Changes what is kept with a thread, stores it, and starts queued input when the thread is free. */
import type { QueuedSubmission, ThreadGoal } from '../../protocol/app-server/thread.ts'
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { UserInput } from '../../protocol/app-server/thread-item.ts'
import { TurnRefused } from '../engine/turn-refused.ts'
import { uuid7 } from '../engine/uuid7.ts'
import { extrasRecord, type ThreadExtras } from './thread-extras.ts'
import type { LoadedThread } from './thread-manager.ts'
import { invalidRequest } from './wire-error.ts'

const MAX_QUEUED = 100

export class ThreadKeeper {
  /** People who are asked something outside of the protocol. */
  private readonly elicitations = new WeakMap<LoadedThread, number>()

  constructor(private readonly emit: Emit) {}

  /** Somebody more, or less, is asked outside of the protocol. @throws WireError below none */
  countElicitations(thread: LoadedThread, change: 1 | -1): { count: number; paused: boolean } {
    const count = (this.elicitations.get(thread) ?? 0) + change
    if (count < 0) throw invalidRequest('nobody is being asked: there are fewer increments than decrements')
    this.elicitations.set(thread, count)
    return { count, paused: count > 0 }
  }

  add(thread: LoadedThread, input: UserInput[], clientUserMessageId: string | null): QueuedSubmission {
    const { queue } = thread.extras
    if (queue.length >= MAX_QUEUED) throw invalidRequest(`the queue of this thread is full: ${MAX_QUEUED} entries`)
    const entry: QueuedSubmission = { id: uuid7(), input, clientUserMessageId, createdAtMs: Date.now() }
    queue.push(entry)
    this.queueChanged(thread)
    void this.startNext(thread)
    return entry
  }

  /** @throws WireError for an id that is not queued */
  entry(thread: LoadedThread, id: string): QueuedSubmission {
    const entry = thread.extras.queue.find((queued) => queued.id === id)
    if (!entry) throw invalidRequest(`queuedSubmissionId: "${id}" is not in the queue`)
    return entry
  }

  update(thread: LoadedThread, id: string, input: UserInput[]): QueuedSubmission {
    const entry = this.entry(thread, id)
    entry.input = input
    this.queueChanged(thread)
    return entry
  }

  remove(thread: LoadedThread, id: string): void {
    thread.extras.queue.splice(thread.extras.queue.indexOf(this.entry(thread, id)), 1)
    this.queueChanged(thread)
  }

  /** Puts the named entries first, in this order; the others keep theirs. */
  reorder(thread: LoadedThread, ids: readonly string[]): void {
    const first = ids.map((id) => this.entry(thread, id))
    thread.extras.queue = [...first, ...thread.extras.queue.filter((entry) => !first.includes(entry))]
    this.queueChanged(thread)
  }

  /** Starts one entry now, wherever it stands; the queue goes on after it. */
  async start(thread: LoadedThread, id: string) {
    const entry = this.entry(thread, id)
    const turn = await thread.session.startIfIdle({
      input: entry.input as UserInput[],
      clientId: entry.clientUserMessageId,
      additionalContext: null,
    })
    thread.extras.queuePaused = false
    this.remove(thread, id)
    return turn
  }

  /** Called when a turn has ended. */
  turnEnded(thread: LoadedThread, how: 'completed' | 'interrupted' | 'failed'): void {
    if (thread.extras.queue.length === 0) return
    if (how === 'interrupted') {
      thread.extras.queuePaused = true
      this.queueChanged(thread)
    } else void this.startNext(thread)
  }

  /** The person sent something themselves: a paused queue goes on after it. */
  resumeQueue(thread: LoadedThread): void {
    thread.extras.queuePaused = false
  }

  setGoal(thread: LoadedThread, goal: ThreadGoal | null, turnId: string | null = null): void {
    thread.extras.goal = goal
    this.store(thread)
    if (goal) this.emit('thread/goal/updated', { threadId: thread.session.id, turnId, goal })
    else this.emit('thread/goal/cleared', { threadId: thread.session.id })
  }

  async setMemoryMode(thread: LoadedThread, memoryMode: ThreadExtras['memoryMode']): Promise<void> {
    await thread.session.persist()
    thread.extras.memoryMode = memoryMode
    this.store(thread)
    await thread.session.persist()
  }

  private async startNext(thread: LoadedThread): Promise<void> {
    const next = thread.extras.queue[0]
    if (!next || thread.extras.queuePaused || thread.session.activeTurn) return
    try {
      await thread.session.startIfIdle({
        input: next.input as UserInput[],
        clientId: next.clientUserMessageId,
        additionalContext: null,
      })
    } catch (error) {
      if (error instanceof TurnRefused) return // Something else began; its end comes back here.
      throw error
    }
    thread.extras.queue = thread.extras.queue.filter((entry) => entry !== next)
    this.queueChanged(thread)
  }

  private queueChanged(thread: LoadedThread): void {
    this.store(thread)
    const { queue, queuePaused } = thread.extras
    this.emit('thread/queue/changed', {
      threadId: thread.session.id,
      queuedSubmissions: [...queue],
      paused: queuePaused,
    })
  }

  private store(thread: LoadedThread): void {
    thread.session.recordEvent(extrasRecord(thread.extras))
    if (!thread.session.log?.materialized) return
    thread.session.store()
    void thread.session.persist()
  }
}
