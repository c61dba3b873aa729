/** Renders a part of the window around a scripted host, as the app would. */
import { act, cleanup, configure, render, type RenderResult } from '@testing-library/react'
import type { ReactNode } from 'react'
import { createStore } from 'zustand/vanilla'
import { ActionsProvider } from '../components/actions.tsx'
import { ToastsProvider } from '../components/toasts.tsx'
import { connectFeed } from '../feed/feed-client.ts'
import { HostLinkProvider, type HostLink } from '../feed/feed-context.tsx'
import { initialFeedState, type FeedState } from '../feed/feed-state.ts'
import type { ScriptedHost } from './scripted-host.ts'

// The usual second is short on a busy machine; what is waited for is a state, not a time.
configure({ asyncUtilTimeout: 20_000 })

export interface RenderedWindow extends RenderResult {
  link: HostLink
  /** Emits deltas as one batch and lets the window draw them. */
  push: (...deltas: Parameters<ScriptedHost['push']>) => Promise<void>
}

/** Waits for answers that are already on their way. */
export async function settle(): Promise<void> {
  await act(async () => {
    for (let turn = 0; turn < 5; turn++) await Promise.resolve()
  })
}

/** The snapshot has arrived when this resolves. Everything is taken down by `cleanup` after the test. */
export async function renderWithHost(host: ScriptedHost, children: ReactNode): Promise<RenderedWindow> {
  const store = createStore<FeedState>(initialFeedState)
  const pending = new Set<() => void>()
  const feed = connectFeed({
    api: host.api,
    store,
    schedule: (run) => {
      pending.add(run)
      return () => pending.delete(run)
    },
  })
  const link: HostLink = {
    store,
    invoke: host.api.invoke,
    outputPorts: { open: async () => ({ ok: false, code: 'unavailable', message: 'no ports in this test' }) },
    onThreadNews: (listener) => host.api.on('threads.news', listener),
    resubscribe: feed.resubscribe,
  }
  const rendered = render(
    <HostLinkProvider link={link}>
      <ActionsProvider>
        <ToastsProvider>{children}</ToastsProvider>
      </ActionsProvider>
    </HostLinkProvider>,
  )
  await settle()
  const push: RenderedWindow['push'] = async (...deltas) => {
    host.push(...deltas)
    await act(async () => {
      for (const run of pending) {
        pending.delete(run)
        run()
      }
    })
  }
  return { ...rendered, link, push }
}

export { cleanup }
