/** Shows each loaded thread to the host as a session of Gatehouse's own. */
import type { Emit, NotificationMap } from '../../protocol/app-server/notifications.ts'
import type { Thread } from '../../protocol/app-server/thread.ts'
import type { UserMessageItem } from '../../protocol/app-server/thread-item.ts'
import type { SessionFacts } from '../../protocol/host-channel.ts'
import { sessionOfThread } from '../../protocol/ids.ts'
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import type { PeerHostLink } from '../sessions/host-link.ts'
import type { ThreadWatcher } from './app-server.ts'

const TITLE_CHARACTERS = 80
const OWN = { agentName: 'Gatehouse', agentVersion: GATEHOUSE_VERSION, via: 'app-server' }

export class ThreadSessions implements ThreadWatcher {
  private readonly open = new Map<string, SessionFacts>()
  /** Names of child agents; their sessions begin with them. */
  private readonly nicknames = new Map<string, string>()

  constructor(
    private readonly host: Pick<PeerHostLink, 'opened' | 'updated' | 'closed'>,
    /** Whose sessions they are, and how they came here. */
    private readonly origin: Pick<SessionFacts, 'agentName' | 'agentVersion' | 'via'> = OWN,
  ) {}

  has(threadId: string): boolean {
    return this.open.has(threadId)
  }

  loaded(thread: Thread): void {
    if (thread.agentNickname !== null) this.nicknames.set(thread.id, thread.agentNickname)
    const facts: SessionFacts = {
      id: sessionOfThread(thread.id),
      ...this.origin,
      title: this.titleOf(thread.id, thread.name ?? thread.preview),
      cwd: thread.cwd,
      isWorking: false,
      openedAtMs: Date.now(),
    }
    this.open.set(thread.id, facts)
    this.host.opened(facts)
  }

  unloaded(threadId: string, reason = 'nobody looks at the session'): void {
    this.nicknames.delete(threadId)
    if (this.open.delete(threadId)) this.host.closed(sessionOfThread(threadId), reason)
  }

  readonly notified: Emit = (method, params) => {
    switch (method) {
      case 'thread/status/changed': {
        const { threadId, status } = params as NotificationMap['thread/status/changed']
        return this.change(threadId, { isWorking: status.type === 'active' })
      }
      case 'thread/name/updated': {
        const { threadId, threadName } = params as NotificationMap['thread/name/updated']
        return threadName === null ? undefined : this.change(threadId, { title: this.titleOf(threadId, threadName) })
      }
      case 'item/started':
      case 'item/completed': {
        const { threadId, item } = params as NotificationMap['item/started']
        if (item.type !== 'userMessage' || this.open.get(threadId)?.title !== undefined) return
        return this.change(threadId, { title: this.titleOf(threadId, textOf(item)) })
      }
    }
  }

  private titleOf(threadId: string, text: string): string | undefined {
    const line = text.trim().split('\n', 1)[0]!
    const nickname = this.nicknames.get(threadId)
    const title = (nickname === undefined || line === '' ? line : `${nickname}: ${line}`).slice(0, TITLE_CHARACTERS)
    return title === '' ? undefined : title
  }

  private change(threadId: string, change: Partial<SessionFacts>): void {
    const facts = this.open.get(threadId)
    if (!facts) return
    const changed = { ...facts, ...change }
    this.open.set(threadId, changed)
    this.host.updated(changed)
  }
}

const textOf = ({ content }: UserMessageItem): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
