/** Builds the window's one link to the host around the object that preload exposes. */
import { createStore } from 'zustand/vanilla'
import type { Events, GatehouseApi, Outcome } from '../../preload/api.ts'
import { connectFeed } from './feed-client.ts'
import type { HostLink, Invoke } from './feed-context.tsx'
import { initialFeedState, type FeedState } from './feed-state.ts'
import { createOutputPorts } from './output-ports.ts'

declare global {
  interface Window {
    readonly gatehouse: GatehouseApi
  }
}

export interface ConnectedHost {
  link: HostLink
  /** Main asks the window to show something. Returns the unsubscriber. */
  onNavigate(listener: (target: Events['navigate']) => void): () => void
  dispose(): void
}

export function connectHost(api: GatehouseApi): ConnectedHost {
  const store = createStore<FeedState>(initialFeedState)
  const feed = connectFeed({ api, store })
  const outputPorts = createOutputPorts(api)
  return {
    link: {
      store,
      invoke: safeInvoke(api),
      outputPorts,
      onThreadNews: (listener) => api.on('threads.news', listener),
      resubscribe: feed.resubscribe,
    },
    onNavigate: (listener) => api.on('navigate', listener),
    dispose() {
      feed.dispose()
      outputPorts.dispose()
    },
  }
}

/** An answer that never came is a failure with a name, not an exception in a click handler. */
function safeInvoke(api: GatehouseApi): Invoke {
  return (channel, ...args) =>
    api.invoke(channel, ...args).catch((cause: unknown): Outcome<never> => ({
      ok: false,
      code: 'disconnected',
      message: `Gatehouse did not answer: ${cause instanceof Error ? cause.message : String(cause)}`,
    }))
}
