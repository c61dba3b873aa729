/** How components reach the host: named selectors on the feed, and intents. Nothing else touches `window.gatehouse`. */
import { createContext, useCallback, useContext, type ReactNode } from 'react'
import { useStore } from 'zustand'
import type { StoreApi } from 'zustand/vanilla'
import type {
  InvokeChannel,
  Invokes,
  Outcome,
  OwnerThreadCalls,
  OwnerThreadMethod,
  ThreadNews,
} from '../../preload/api.ts'
import type { FeedState } from './feed-state.ts'
import type { OutputPorts } from './output-ports.ts'

/** Sends an intent. Never rejects: a lost host is an outcome like any other failure. */
export type Invoke = <C extends InvokeChannel>(
  channel: C,
  ...args: Invokes[C]['args']
) => Promise<Outcome<Invokes[C]['result']>>

export interface HostLink {
  store: StoreApi<FeedState>
  invoke: Invoke
  outputPorts: Pick<OutputPorts, 'open'>
  /** News of Gatehouse's own sessions that this window has opened. Returns the unsubscriber. */
  onThreadNews(listener: (news: ThreadNews) => void): () => void
  /** Asks the host for everything again. */
  resubscribe(): void
}

const HostLinkContext = createContext<HostLink | null>(null)

export function HostLinkProvider({ link, children }: { link: HostLink; children: ReactNode }): ReactNode {
  return <HostLinkContext value={link}>{children}</HostLinkContext>
}

export function useHostLink(): HostLink {
  const link = useContext(HostLinkContext)
  if (!link) throw new Error('a HostLinkProvider is missing above this component')
  return link
}

/** `select` must return the same object while nothing it reads has changed (see `memoizeLast`). */
export function useFeed<R>(select: (state: FeedState) => R): R {
  return useStore(useHostLink().store, select)
}

export function useInvoke(): Invoke {
  return useHostLink().invoke
}

export type ThreadCall = <M extends OwnerThreadMethod>(
  method: M,
  params: OwnerThreadCalls[M]['params'],
) => Promise<Outcome<OwnerThreadCalls[M]['result']>>

/** Asks Gatehouse's own sessions for something. Never rejects. The function stays the same. */
export function useThreadCall(): ThreadCall {
  const invoke = useInvoke()
  return useCallback(
    (method, params) => invoke('threads.call', method, params) as ReturnType<ThreadCall> as Promise<Outcome<never>>,
    [invoke],
  )
}
