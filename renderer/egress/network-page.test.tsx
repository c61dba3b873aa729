import { act, cleanup, fireEvent, screen, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { renderWithHost, settle } from '../testing/render-with-host.tsx'
import { ScriptedHost, type Script } from '../testing/scripted-host.ts'
import { connection, rule, session, snapshot } from '../testing/view-fixtures.ts'
import { NetworkPage } from './network-page.tsx'

vi.setConfig({ testTimeout: 30_000 })

const answers: Script = {
  'egress.decide': () => ({ ok: true, value: { ruleId: 'rul_7' } }),
  'egress.undo': () => ({ ok: true, value: null }),
  'egress.saveExport': () => ({ ok: true, value: { path: '/home/ada/connections.csv', bytes: 120 } }),
  'egress.preview': () => ({
    ok: true,
    value: {
      text: 'network_rule(…)',
      words: 'Allow a.example, port 443',
      storedIn: 'default.rules',
      matched: { count: 0, denied: 0, examples: [] },
    },
  }),
}
const blocked = connection({ id: 'c1', host: 'a.example', openedAtMs: 1_000 })
const allowed = connection({ id: 'c2', host: 'b.example', state: 'closed', verdict: 'allow', openedAtMs: 2_000 })

beforeEach(() => {
  vi.useFakeTimers()
  window.location.hash = '#/network'
})
afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

async function openNetwork(id: string | null = null, connections = [blocked, allowed], script: Script = answers) {
  const host = new ScriptedHost(snapshot({ sessions: [session()], connections }), script)
  const rendered = await renderWithHost(host, <NetworkPage id={id} narrowing={null} />)
  await tick(300)
  return { host, ...rendered }
}
const tick = (ms: number): Promise<void> =>
  act(async () => {
    await vi.advanceTimersByTimeAsync(ms)
  })
const shownHosts = (): string[] =>
  within(screen.getByRole('grid', { name: 'Connections' }))
    .getAllByRole('row')
    .slice(1)
    .map((row) => within(row).getAllByRole('gridcell')[2]?.textContent ?? '')

test('one act on a blocked row allows exactly this host and port for this session', async () => {
  const { host, push } = await openNetwork()
  fireEvent.click(screen.getByRole('button', { name: 'Allow for this session' }))
  await settle()
  expect(host.callsOf('egress.decide')).toEqual([
    [{ connectionId: 'c1', verdict: 'allow', scope: 'session', breadth: 'host-port' }],
  ])
  await push({ table: 'rules', key: 'rul_7', value: rule({ id: 'rul_7', kind: 'network', scope: 'session' }) })
  expect(screen.getByText('allowed now')).toBeDefined()
  await push({ table: 'rules', key: 'rul_7', value: null })
  expect(screen.getByRole('button', { name: 'Allow for this session' })).toBeDefined()
})

test('a pointer that rests where the page appeared holds nothing back', async () => {
  const { push } = await openNetwork()
  fireEvent.pointerMove(screen.getByRole('grid'), { movementX: 0, movementY: 0 })
  await push({ table: 'connections', key: 'c3', value: connection({ id: 'c3', host: 'c.example', openedAtMs: 3_000 }) })
  await tick(300)
  expect(shownHosts()[0]).toBe('c.example:443')
})

test('the act can be undone for ten seconds', async () => {
  const { host } = await openNetwork()
  fireEvent.click(screen.getByRole('button', { name: 'Allow for this session' }))
  await settle()
  await tick(9_000)
  fireEvent.click(screen.getByRole('button', { name: 'Undo' }))
  await settle()
  expect(host.callsOf('egress.undo')).toEqual([['rul_7']])
  await tick(11_000)
  expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull()
})

test('a rule that was not written is said so, and the row keeps its button', async () => {
  await openNetwork(null, [blocked], {
    'egress.decide': () => ({ ok: false, code: 'unavailable', message: 'The proxy is down.' }),
  })
  fireEvent.click(screen.getByRole('button', { name: 'Allow for this session' }))
  await settle()
  expect(screen.getByText(/The proxy is down/)).toBeDefined()
  expect(screen.getByRole('button', { name: 'Allow for this session' })).toBeDefined()
})

test('new rows wait in a pill while the pointer is over the table', async () => {
  const { push } = await openNetwork()
  expect(shownHosts()).toEqual(['b.example:443', 'a.example:443'])
  fireEvent.pointerMove(screen.getByRole('grid'), { movementY: 2 })
  await push({ table: 'connections', key: 'c3', value: connection({ id: 'c3', host: 'c.example', openedAtMs: 3_000 }) })
  await tick(300)
  expect(shownHosts()).toEqual(['b.example:443', 'a.example:443'])
  expect(screen.getByText('1 new')).toBeDefined()
  fireEvent.pointerLeave(screen.getByRole('grid'))
  await settle()
  expect(shownHosts()).toEqual(['c.example:443', 'b.example:443', 'a.example:443'])
})

test('a held row still shows what became of it', async () => {
  const { push } = await openNetwork()
  fireEvent.pointerMove(screen.getByRole('grid'), { movementY: 2 })
  await push({ table: 'connections', key: 'c1', value: { ...blocked, count: 9 } })
  await tick(300)
  expect(screen.getByText(/×9/)).toBeDefined()
})

test('filters are chips that narrow the table', async () => {
  await openNetwork()
  fireEvent.click(within(screen.getByRole('group', { name: 'Filters' })).getByRole('button', { name: 'blocked' }))
  expect(shownHosts()).toEqual(['a.example:443'])
  fireEvent.click(within(screen.getByRole('region', { name: 'Hosts' })).getByRole('button', { name: /a\.example/ }))
  expect(screen.getByRole('button', { name: 'Remove filter host a.example' })).toBeDefined()
})

test('100,000 connections draw a screenful of rows', async () => {
  const many = Array.from({ length: 100_000 }, (_, i) =>
    connection({ id: `m${i}`, host: `h${i}.example`, openedAtMs: i }),
  )
  const { container } = await openNetwork(null, many)
  expect(container.querySelector('[role="grid"]')?.getAttribute('aria-rowcount')).toBe('100001')
  const rows = container.querySelectorAll('.row-grid-row')
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.length).toBeLessThan(100)
  expect(rows[0]?.textContent).toContain('h99999.example')
})

test('a rule for always shows its text first', async () => {
  const { host } = await openNetwork('c1')
  fireEvent.click(screen.getByRole('button', { name: 'Allow always…' }))
  const save = screen.getByRole('button', { name: 'Save rule and allow' })
  expect(save.getAttribute('aria-disabled')).toBe('true')
  await settle()
  expect(screen.getByText('Allow a.example, port 443')).toBeDefined()
  fireEvent.click(screen.getByRole('radio', { name: 'a.example, any port' }))
  await settle()
  fireEvent.click(save)
  await settle()
  expect(host.callsOf('egress.decide')).toEqual([
    [{ connectionId: 'c1', verdict: 'allow', scope: 'always', breadth: 'host' }],
  ])
})

test.each([
  ['CSV', 'csv'],
  ['JSON', 'json'],
  ['HAR', 'har'],
])('the export as %s holds the rows in view', async (title, extension) => {
  const { host } = await openNetwork()
  fireEvent.click(within(screen.getByRole('group', { name: 'Filters' })).getByRole('button', { name: 'allowed' }))
  fireEvent.click(screen.getByRole('button', { name: 'Export' }))
  fireEvent.click(screen.getByRole('menuitem', { name: new RegExp(`^${title}`) }))
  await settle()
  const [[name, text] = ['', '']] = host.callsOf('egress.saveExport')
  expect(name).toMatch(new RegExp(`^connections-.*\\.${extension}$`))
  expect(text).toContain('b.example')
  expect(text).not.toContain('a.example')
})

test('the menu of exports is left by Escape and moved through by arrows', async () => {
  await openNetwork()
  const button = screen.getByRole('button', { name: 'Export' })
  fireEvent.click(button)
  expect(document.activeElement).toBe(screen.getByRole('menuitem', { name: /^CSV/ }))
  fireEvent.keyDown(document.activeElement!, { key: 'ArrowUp' })
  expect(document.activeElement).toBe(screen.getByRole('menuitem', { name: /^HAR/ }))
  fireEvent.keyDown(document.activeElement!, { key: 'Escape' })
  expect(screen.queryByRole('menu')).toBeNull()
  expect(document.activeElement).toBe(button)
})

test('the switches say what they mean, are set at once, and fix each other where one needs the other', async () => {
  const { host, push } = await openNetwork()
  const switches = screen.getByRole('region', { name: 'What passes and what is seen' })
  expect(switches.textContent).toContain('you see host and port')
  fireEvent.click(screen.getByRole('radio', { name: 'Opened and shown' }))
  fireEvent.click(screen.getByRole('radio', { name: 'Reading only' }))
  await settle()
  expect(host.callsOf('settings.set')).toEqual([[{ inspectHttps: true }], [{ networkMode: 'limited' }]])
  await push({ settings: { ...snapshot().settings, networkMode: 'limited' } })
  expect(switches.textContent).toContain('Only GET, HEAD and OPTIONS pass')
  const opened = screen.getByRole<HTMLInputElement>('radio', { name: 'Opened and shown' })
  expect(opened.checked).toBe(true)
  expect(opened.closest('fieldset')?.disabled).toBe(true)
})

test('a switch that was not set says so', async () => {
  await openNetwork(null, [blocked], {
    'settings.set': () => ({ ok: false, code: 'unavailable', message: 'The disk is full.' }),
  })
  fireEvent.click(screen.getByRole('radio', { name: 'Reading only' }))
  await settle()
  expect(screen.getByText('Nothing was changed. The disk is full.')).toBeDefined()
})

test('requests inside an inspected connection open to their fields', async () => {
  const exchanges = [
    { atMs: 1_000, method: 'GET', path: '/v1/items?…', status: 200, requestHeaders: [['Authorization', '[masked]']] },
    { atMs: 2_000, method: 'POST', path: '/v1/items', reason: 'method_not_allowed', requestHeaders: [] },
  ]
  await openNetwork('c2', [{ ...allowed, inspected: true, detail: { exchanges, requests: 2 } }])
  const inside = within(screen.getByRole('region', { name: 'Requests inside' }))
  expect(inside.getAllByRole('listitem').map((item) => item.querySelector('summary')?.textContent)).toEqual([
    expect.stringContaining('method not allowed'),
    expect.stringContaining('200'),
  ])
  expect(inside.getByText('[masked]')).toBeDefined()
})

test('one session can be chosen, and the table, its hosts and the address go with it', async () => {
  const other = { ...allowed, sessionId: 'ses_2', sessionTitle: 'write docs' }
  await openNetwork(null, [blocked, other])
  const choice = screen.getByRole('combobox', { name: 'Session' })
  expect(
    within(choice)
      .getAllByRole('option')
      .map(({ textContent }) => textContent),
  ).toEqual(['all sessions', 'fix flaky test', 'write docs'])
  fireEvent.change(choice, { target: { value: 'ses_2' } })
  expect(window.location.hash).toContain('ses_2')
})

test('the row of an inspected connection says what was asked for last', async () => {
  const exchanges = [
    { atMs: 1, method: 'GET', path: '/one', status: 200, requestHeaders: [] },
    { atMs: 2, method: 'POST', path: '/two', status: 200, requestHeaders: [] },
  ]
  await openNetwork(null, [{ ...allowed, inspected: true, detail: { exchanges } }])
  expect(shownHosts()).toEqual(['b.example:443 /two'])
  expect(screen.getAllByRole('gridcell')[3]?.textContent).toBe('POST')
})
