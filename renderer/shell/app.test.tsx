import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createStore } from 'zustand/vanilla'
import { render } from '@testing-library/react'
import { connectFeed } from '../feed/feed-client.ts'
import type { HostLink } from '../feed/feed-context.tsx'
import { initialFeedState, type FeedState } from '../feed/feed-state.ts'
import { settle } from '../testing/render-with-host.tsx'
import { ScriptedHost, type Script } from '../testing/scripted-host.ts'
import { approval, command, connection, process, session, sidecar, snapshot } from '../testing/view-fixtures.ts'
import { App } from './app.tsx'

vi.setConfig({ testTimeout: 30_000 })

beforeEach(() => {
  window.location.hash = '#/inbox'
  HTMLElement.prototype.scrollIntoView = () => {}
})
afterEach(() => {
  cleanup()
  vi.restoreAllMocks()
})

async function openApp(current = snapshot({ sessions: [session()] }), script: Script = {}) {
  const host = new ScriptedHost(current, script)
  const store = createStore<FeedState>(initialFeedState)
  const feed = connectFeed({ api: host.api, store, schedule: (run) => (setTimeout(run, 16), () => {}) })
  const link: HostLink = {
    store,
    invoke: host.api.invoke,
    outputPorts: { open: async () => ({ ok: false, code: 'unavailable', message: 'no ports in this test' }) },
    onThreadNews: () => () => {},
    resubscribe: feed.resubscribe,
  }
  render(<App link={link} />)
  await settle()
  return { host }
}
const chord = (key: string, over: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, bubbles: true, ...over })
}

test('the rail has the seven sections as links', async () => {
  await openApp()
  const links = within(screen.getByRole('navigation', { name: 'Sections' })).getAllByRole('link')
  expect(links.map((link) => link.textContent)).toEqual([
    'Inbox',
    'Sessions',
    'Processes',
    'Network',
    'Agents',
    'Rules',
    'Settings',
  ])
})

test('the status bar names each sidecar with its state', async () => {
  await openApp(
    snapshot({
      sidecars: [
        sidecar('exec-server'),
        sidecar('mcp-server', { state: 'starting' }),
        sidecar('network-proxy', { state: 'failed' }),
      ],
    }),
  )
  expect(screen.getByLabelText('exec server: ready')).toBeDefined()
  expect(screen.getByLabelText('mcp server: starting')).toBeDefined()
  expect(screen.getByLabelText('network proxy: failed')).toBeDefined()
})

test('the card of a sidecar shows its last error lines and restarts it', async () => {
  const { host } = await openApp(
    snapshot({
      sidecars: [
        sidecar('exec-server', { state: 'failed', lastError: 'killed by SIGKILL', stderrTail: ['Error: boom'] }),
      ],
    }),
    { 'sidecars.restart': () => ({ ok: true, value: null }) },
  )
  fireEvent.click(screen.getByLabelText('exec server: failed'))
  const dialog = screen.getByRole('dialog', { name: 'Exec server' })
  expect(within(dialog).getByText('killed by SIGKILL')).toBeDefined()
  expect(within(dialog).getByText('Error: boom')).toBeDefined()
  fireEvent.click(within(dialog).getByRole('button', { name: 'Restart the exec server' }))
  await settle()
  expect(host.callsOf('sidecars.restart')).toEqual([['exec-server']])
})

test('number chords go to the sections', async () => {
  await openApp()
  chord('3', { ctrlKey: true })
  const page = await screen.findByRole('main', { name: 'Processes' })
  await waitFor(() => expect(document.activeElement).toBe(page))
})

test('the palette finds a host and goes to its connections', async () => {
  await openApp(snapshot({ sessions: [session()], connections: [connection({ host: 'crates.example' })] }))
  chord('k', { ctrlKey: true })
  const field = screen.getByRole('combobox')
  fireEvent.change(field, { target: { value: 'crates' } })
  expect(screen.getAllByRole('option')[0]?.textContent).toContain('crates.example')
  fireEvent.keyDown(field, { key: 'Enter' })
  expect(await screen.findByRole('grid', { name: 'Connections' })).toBeDefined()
  expect(window.location.hash).toBe('#/network?host=crates.example')
  expect(screen.queryByRole('combobox')).toBeNull()
})

test('F8 goes to the next request and around the end', async () => {
  const requests = ['git', 'rm'].map((name, i) =>
    approval({ id: `req_${name}`, subject: command([name]), askedAtMs: i }),
  )
  await openApp(snapshot({ sessions: [session()], approvals: requests }))
  const focused = (): string | undefined => (document.activeElement as HTMLElement).dataset['request']
  chord('F8')
  expect(focused()).toBe('req_git')
  chord('F8')
  expect(focused()).toBe('req_rm')
  chord('F8')
  expect(focused()).toBe('req_git')
  chord('F8', { shiftKey: true })
  expect(focused()).toBe('req_rm')
})

test('a new request is announced once and politely, with the number waiting', async () => {
  const { host } = await openApp(snapshot({ sessions: [session()], approvals: [approval({ id: 'req_0' })] }))
  const region = screen.getByRole('status', { name: 'New requests' })
  expect(region.textContent).toBe('')
  const arrived = approval({ id: 'req_1', subject: command(['git', 'push']) })
  host.push({ table: 'approvals', key: 'req_1', value: arrived })
  await waitFor(() => expect(region.textContent).toBe('claude-code wants to run git push, 2 waiting'))
  expect(region.getAttribute('aria-live')).toBe('polite')
  host.push({ table: 'approvals', key: 'req_1', value: { ...arrived, waiting: 7 } })
  await screen.findByText(/7 alike/)
  expect(region.textContent).toBe('claude-code wants to run git push, 2 waiting')
})

test('a host that does not answer is named, and nothing is lost by trying again', async () => {
  let fails = true
  await openApp(undefined, {
    'feed.snapshot': () =>
      fails ? { ok: false, code: 'timedOut', message: 'no answer in 5 s' } : { ok: true, value: snapshot() },
  })
  expect(screen.getByRole('alert').textContent).toContain('no answer in 5 s')
  fails = false
  fireEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await settle()
  expect(screen.getByRole('heading', { name: 'Inbox' })).toBeDefined()
})

test('a sidecar that is down leaves its page readable, with the way back', async () => {
  window.location.hash = '#/processes'
  const { host } = await openApp(
    snapshot({
      processes: [process()],
      sidecars: [sidecar('exec-server', { state: 'backoff', lastError: 'killed by SIGKILL' })],
    }),
    { 'sidecars.restart': () => ({ ok: true, value: null }) },
  )
  expect(screen.getByRole('grid', { name: 'Processes' })).toBeDefined()
  expect(screen.getByText(/The exec server stopped and will be started again/)).toBeDefined()
  fireEvent.click(screen.getByRole('button', { name: 'Restart the exec server' }))
  await settle()
  expect(host.callsOf('sidecars.restart')).toEqual([['exec-server']])
})

test('a list is reached, a row opened and left again by keyboard alone', async () => {
  await openApp()
  const rowHasFocus = () => waitFor(() => expect(document.activeElement?.getAttribute('href')).toBe('#/sessions/ses_1'))
  chord('2', { ctrlKey: true })
  await rowHasFocus()
  fireEvent.click(document.activeElement as Element)
  await screen.findByRole('button', { name: 'Interrupt session' })
  chord('Escape')
  await waitFor(() => expect(window.location.hash).toBe('#/sessions'))
})

test('a page that cannot be drawn leaves the rest of the window working', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const broken = { ...session(), title: null } as unknown as ReturnType<typeof session>
  window.location.hash = '#/sessions'
  await openApp(snapshot({ sessions: [{ ...broken, agentName: null as unknown as string }] }))
  expect(screen.getByRole('heading', { name: 'This page failed' })).toBeDefined()
  expect(screen.getByLabelText('exec server: ready')).toBeDefined()
  chord('1', { ctrlKey: true })
  expect(await screen.findByRole('heading', { name: 'Inbox' })).toBeDefined()
})

test('keys in a dialog do nothing to the page behind it', async () => {
  window.location.hash = '#/sessions/ses_1'
  await openApp(undefined, { 'sessions.interrupt': () => ({ ok: true, value: null }) })
  fireEvent.click(screen.getByLabelText('exec server: ready'))
  const dialog = screen.getByRole('dialog', { name: 'Exec server' })
  fireEvent.keyDown(dialog, { key: 'Escape', bubbles: true })
  fireEvent.keyDown(dialog, { key: '1', ctrlKey: true, bubbles: true })
  fireEvent.keyDown(dialog, { key: '.', ctrlKey: true, bubbles: true })
  await settle()
  expect(window.location.hash).toBe('#/sessions/ses_1')
  expect(screen.queryByText(/Interrupted/)).toBeNull()
})
