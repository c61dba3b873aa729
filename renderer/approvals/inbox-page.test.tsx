import { act, cleanup, fireEvent, screen, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { renderWithHost, settle } from '../testing/render-with-host.tsx'
import { ScriptedHost, type Script } from '../testing/scripted-host.ts'
import { approval, command, rule, session, snapshot } from '../testing/view-fixtures.ts'
import { InboxPage } from './inbox-page.tsx'
import { INERT_MS } from './use-inert.ts'

const preview = {
  text: 'prefix_rule(pattern = ["git", "push"], decision = "allow")',
  words: 'Allow commands that start with git push',
  storedIn: 'rules/default.rules',
  matched: { count: 3, denied: 1, examples: ['git push origin main'] },
}
const answers: Script = {
  'approvals.decide': () => ({ ok: true, value: { ok: true } }),
  'approvals.preview': () => ({ ok: true, value: preview }),
}

// Looking things up by role walks the whole document, which is slow outside a browser.
vi.setConfig({ testTimeout: 30_000 })

beforeEach(() => {
  vi.useFakeTimers()
  HTMLElement.prototype.scrollIntoView = () => {}
})
afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

const push = approval({ id: 'req_1', subject: command(['git', 'push']), askedAtMs: 1 })
const remove = approval({
  id: 'req_2',
  subject: command(['rm', '-rf', 'dist']),
  askedAtMs: 2,
  subjectHash: 'hash-of-req_2',
})

async function openInbox(requests = [push, remove], script: Script = answers) {
  const host = new ScriptedHost(snapshot({ sessions: [session()], approvals: requests, rules: [rule()] }), script)
  const rendered = await renderWithHost(host, <InboxPage id={null} />)
  return { host, ...rendered }
}
/** Past the moment in which a press was meant for something else. */
const pastInertMoment = (): Promise<void> =>
  act(async () => {
    await vi.advanceTimersByTimeAsync(INERT_MS)
  })
const card = (name: RegExp | string): HTMLElement => screen.getByRole('article', { name })
const cards = (): (string | null)[] =>
  screen.getAllByRole('article').map((element) => element.getAttribute('data-request'))
const press = (element: Element, key: string, modifiers: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(element, { key, bubbles: true, ...modifiers })
}

test('a card says what the sandbox refused before, and why the agent wants it', async () => {
  await openInbox([approval({ refused: 'touch: cannot touch \u202ex: Read-only file system', reason: 'I need it' })])
  expect(screen.getByText(/Its sandbox refused it/)).toBeDefined()
  const { textContent } = screen.getByRole('article')
  expect(textContent).toContain('Read-only file system')
  expect(textContent).toContain('it says I need it')
  expect(textContent).not.toContain('\u202e')
})

test('a card is an article named after what it asks', async () => {
  await openInbox()
  expect(card('claude-code wants to run git push')).toBeDefined()
  expect(card(/rm -rf dist/)).toBeDefined()
})

test('the chord allows the focused card, with the hash of what was shown', async () => {
  const { host } = await openInbox()
  await pastInertMoment()
  card(/rm -rf/).focus()
  press(card(/rm -rf/), 'Enter', { ctrlKey: true })
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([
    [{ requestId: 'req_2', subjectHash: 'hash-of-req_2', verdict: 'allow', scope: 'once' }],
  ])
})

test('a question is filled in and sent as words; what is missing is named, and Enter in a field sends nothing', async () => {
  const question = approval({
    scopes: ['once'],
    subject: {
      kind: 'question',
      questions: [
        {
          id: 'db',
          header: 'Store',
          question: 'Which database?',
          isOther: true,
          isSecret: false,
          options: [{ label: 'SQLite', description: 'one file' }],
        },
        { id: 'pin', header: '', question: 'The pin?', isOther: true, isSecret: true, options: null },
      ],
    },
  })
  const { host } = await openInbox([question])
  await pastInertMoment()
  const asked = card('claude-code asks you Which database? The pin?')
  const inCard = within(asked)
  fireEvent.click(inCard.getByRole('button', { name: 'Send answer' }))
  expect(inCard.getAllByRole('alert').map((one) => one.textContent)).toEqual([
    'This needs an answer.',
    'This needs an answer.',
  ])
  fireEvent.click(inCard.getByRole('radio', { name: /SQLite/ }))
  const pin = inCard.getByLabelText('The pin?')
  expect(pin.getAttribute('type')).toBe('password')
  fireEvent.change(pin, { target: { value: '1234' } })
  press(pin, 'Enter')
  expect(host.callsOf('approvals.decide')).toEqual([])
  fireEvent.click(inCard.getByRole('button', { name: 'Send answer' }))
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([
    [
      {
        requestId: 'req_1',
        subjectHash: 'hash-of-req_1',
        verdict: 'allow',
        scope: 'once',
        content: { db: 'SQLite', pin: '1234' },
      },
    ],
  ])
})

test('the chord does nothing while no card has focus', async () => {
  const { host } = await openInbox()
  await pastInertMoment()
  press(document.body, 'Enter', { ctrlKey: true })
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([])
})

test('typing never decides: not a letter, not Enter, not Space, not a held chord', async () => {
  const { host } = await openInbox()
  await pastInertMoment()
  const target = card(/git push/)
  target.focus()
  for (const key of [
    ...'abcdefghijklmnopqrstuvwxyzAYN0123456789',
    'Enter',
    ' ',
    'Backspace',
    'Delete',
    'Tab',
    'Escape',
  ])
    press(target, key)
  press(target, 'Enter', { ctrlKey: true, repeat: true })
  press(target, 'Enter', { ctrlKey: true, shiftKey: true })
  press(target, 'Enter', { ctrlKey: true, altKey: true })
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([])
})

test('a card takes no answer in its first 400 ms, and shows that', async () => {
  const { host } = await openInbox([push])
  const allow = screen.getByRole('button', { name: 'Allow once' })
  expect(allow.getAttribute('aria-disabled')).toBe('true')
  fireEvent.click(allow)
  press(card(/git push/), 'Enter', { ctrlKey: true })
  press(card(/git push/), 'Backspace', { ctrlKey: true })
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([])

  await pastInertMoment()
  expect(allow.getAttribute('aria-disabled')).toBeNull()
  fireEvent.click(allow)
  await settle()
  expect(host.callsOf('approvals.decide')).toHaveLength(1)
})

test('the press that brings the window to the front answers nothing', async () => {
  const { host } = await openInbox([push])
  await pastInertMoment()
  act(() => void window.dispatchEvent(new Event('focus')))
  fireEvent.click(screen.getByRole('button', { name: 'Allow once' }))
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([])
  await pastInertMoment()
  fireEvent.click(screen.getByRole('button', { name: 'Allow once' }))
  await settle()
  expect(host.callsOf('approvals.decide')).toHaveLength(1)
})

test('a wide scope takes two acts: choose it, see its rule, then save', async () => {
  const { host } = await openInbox([push])
  await pastInertMoment()
  fireEvent.click(screen.getByRole('radio', { name: 'Always' }))
  const save = screen.getByRole('button', { name: 'Save rule and allow' })
  expect(save.getAttribute('aria-disabled')).toBe('true')
  expect(host.callsOf('approvals.decide')).toEqual([])
  await settle()
  expect(screen.getByText(preview.words)).toBeDefined()
  expect(screen.getByText(/1 of which you denied/)).toBeDefined()
  fireEvent.click(save)
  await settle()
  expect(host.callsOf('approvals.decide')).toMatchObject([[{ verdict: 'allow', scope: 'always' }]])
})

test('a rule that cannot be shown cannot be saved; once still works', async () => {
  const { host } = await openInbox([push], {
    ...answers,
    'approvals.preview': () => ({ ok: false, code: 'unavailable', message: 'The rules are being read.' }),
  })
  await pastInertMoment()
  fireEvent.click(screen.getByRole('radio', { name: 'Always' }))
  await settle()
  expect(screen.getByRole('alert').textContent).toContain('The rules are being read.')
  fireEvent.click(screen.getByRole('button', { name: 'Save rule and allow' }))
  press(card(/git push/), 'Enter', { ctrlKey: true })
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([])
  fireEvent.click(screen.getByRole('radio', { name: 'Once' }))
  fireEvent.click(screen.getByRole('button', { name: 'Allow once' }))
  await settle()
  expect(host.callsOf('approvals.decide')).toMatchObject([[{ scope: 'once' }]])
})

test('1, 2 and 3 choose the scope inside the scope choice only', async () => {
  await openInbox([push])
  await pastInertMoment()
  const choice = screen.getByRole('radiogroup', { name: 'Scope' })
  press(choice, '2')
  await settle()
  expect(screen.getByRole('radio', { name: 'Session' })).toHaveProperty('checked', true)
  press(card(/git push/), '3')
  expect(screen.getByRole('radio', { name: 'Session' })).toHaveProperty('checked', true)
})

test('only the scopes that the asker can honour are offered', async () => {
  await openInbox([{ ...push, scopes: ['once'] }])
  expect(screen.queryByRole('radiogroup', { name: 'Scope' })).toBeNull()
})

test('a denial carries its words, and the allow chord cannot turn it into a yes', async () => {
  const { host } = await openInbox([push])
  await pastInertMoment()
  fireEvent.click(screen.getByRole('button', { name: 'Deny and say why' }))
  const field = screen.getByRole('textbox', { name: 'Reason for the agent' })
  expect(document.activeElement).toBe(field)
  fireEvent.change(field, { target: { value: '  use the trash script ' } })
  press(field, 'Backspace', { ctrlKey: true })
  await settle()
  expect(host.callsOf('approvals.decide')).toEqual([])
  press(field, 'Enter', { ctrlKey: true })
  await settle()
  expect(host.callsOf('approvals.decide')).toMatchObject([[{ verdict: 'deny', reason: 'use the trash script' }]])
})

test('Escape in the reason gives focus back to the card and keeps the request open', async () => {
  const { host } = await openInbox([push])
  await pastInertMoment()
  press(card(/git push/), 'Backspace', { ctrlKey: true, shiftKey: true })
  press(screen.getByRole('textbox', { name: 'Reason for the agent' }), 'Escape')
  expect(document.activeElement).toBe(card(/git push/))
  expect(screen.queryByRole('textbox')).toBeNull()
  expect(host.callsOf('approvals.decide')).toEqual([])
})

test('E77 an answer that comes second is told who was first', async () => {
  await openInbox([push], {
    'approvals.decide': () => ({
      ok: true,
      value: { ok: false, message: 'Already denied by you, on the command line.' },
    }),
  })
  await pastInertMoment()
  fireEvent.click(screen.getByRole('button', { name: 'Allow once' }))
  await settle()
  expect(screen.getByRole('alert').textContent).toContain('Already denied by you, on the command line.')
})

test('a request that arrives does not move focus', async () => {
  const { push: emit } = await openInbox([push])
  card(/git push/).focus()
  await emit({ table: 'approvals', key: 'req_2', value: remove })
  expect(document.activeElement).toBe(card(/git push/))
  expect(cards()).toEqual(['req_1', 'req_2'])
})

test('nothing moves while the pointer is over the cards: what is over stays in place as such', async () => {
  const { push: emit } = await openInbox()
  const stack = screen.getByRole('region', { name: 'Waiting requests' })
  fireEvent.pointerMove(stack, { movementX: 3 })
  await emit({
    table: 'approvals',
    key: 'req_1',
    value: { ...push, state: 'withdrawn', endedBecause: 'the agent left' },
  })
  expect([...stack.querySelectorAll('[data-request]')].map((element) => element.getAttribute('data-request'))).toEqual([
    'req_1',
    'req_2',
  ])
  const over = within(stack).getByRole('group', { name: /git push/ })
  expect(over.textContent).toContain('Withdrawn')
  expect(within(over).queryByRole('button', { name: /Allow/ })).toBeNull()
  expect(cards()).toEqual(['req_2'])

  fireEvent.pointerLeave(stack)
  expect([...stack.querySelectorAll('[data-request]')].map((element) => element.getAttribute('data-request'))).toEqual([
    'req_2',
  ])
})

test('nothing moves while a card is being answered', async () => {
  const { push: emit } = await openInbox()
  await pastInertMoment()
  fireEvent.click(within(card(/rm -rf/)).getByRole('radio', { name: 'Session' }))
  await settle()
  await emit({ table: 'approvals', key: 'req_1', value: null })
  await emit({ table: 'approvals', key: 'req_1', value: { ...push, state: 'expired' } })
  expect(screen.getByRole('group', { name: /git push/ })).toBeDefined()
  fireEvent.click(within(card(/rm -rf/)).getByRole('radio', { name: 'Once' }))
  expect(screen.queryByRole('group', { name: /git push/ })).toBeNull()
})

test('after an answer by keyboard focus goes to the next card as a whole', async () => {
  await openInbox()
  await pastInertMoment()
  card(/git push/).focus()
  press(card(/git push/), 'Enter', { ctrlKey: true })
  await settle()
  expect(document.activeElement).toBe(card(/rm -rf/))
})

test('J and K move between cards', async () => {
  await openInbox()
  card(/git push/).focus()
  press(card(/git push/), 'j')
  expect(document.activeElement).toBe(card(/rm -rf/))
  press(card(/rm -rf/), 'k')
  expect(document.activeElement).toBe(card(/git push/))
})

test('what is over is told with its verdict, its scope and who decided', async () => {
  await openInbox([
    {
      ...push,
      state: 'decided',
      decision: {
        verdict: 'allow',
        scope: 'always',
        actor: { kind: 'person', via: 'window' },
        subjectHash: 'h',
        decidedAtMs: 5,
      },
    },
    {
      ...remove,
      state: 'decided',
      decision: {
        verdict: 'deny',
        scope: 'once',
        actor: { kind: 'rule' },
        ruleId: rule().id as never,
        subjectHash: 'h',
        decidedAtMs: 6,
      },
    },
  ])
  expect(screen.getByText(/Allowed always by you/)).toBeDefined()
  expect(screen.getByText(/Denied by rule default.rules:9/)).toBeDefined()
})

test('E80 hidden characters are drawn in the card and the copy is exact', async () => {
  const text = 'git\u200b status \u202e'
  const { host } = await openInbox([{ ...push, subject: command(['sh', '-c', text]) }], {
    ...answers,
    'clipboard.write': () => ({ ok: true, value: null }),
  })
  const block = screen.getByRole('group', { name: 'Command' })
  expect(within(block).getByRole('img', { name: '[U+200B zero width space]' })).toBeDefined()
  expect(within(block).getByRole('img', { name: '[U+202E right-to-left override]' })).toBeDefined()
  expect(screen.getByText(/2 characters here would be invisible or misread/)).toBeDefined()
  fireEvent.click(screen.getByRole('button', { name: 'Copy the command' }))
  await settle()
  expect(host.callsOf('clipboard.write')).toEqual([[text]])
})

test('E79 a command of 980 lines is there whole, and its dangerous line is named', async () => {
  const script = Array.from({ length: 980 }, (_, i) => (i === 700 ? 'rm -rf "$HOME/x"' : `echo step ${i}`)).join('\n')
  const { container } = await openInbox([{ ...push, subject: command(['bash', '-lc', script]) }])
  const block = container.querySelector('[aria-label="Command, 980 lines"]')
  expect(block?.children).toHaveLength(980)
  expect(block?.textContent).toBe(script.replaceAll('\n', ''))
  expect(container.querySelector('[aria-label="What the programs do"]')?.textContent).toContain('deletes recursively')
})

test('of a flood the oldest cards are drawn, more on demand, and any one that the queue leads to', async () => {
  const flood = Array.from({ length: 260 }, (_, i) =>
    approval({ id: `req_${i}`, subject: command(['make', `t${i}`]), askedAtMs: i }),
  )
  const host = new ScriptedHost(snapshot({ sessions: [session()], approvals: flood }), answers)
  const { container } = await renderWithHost(host, <InboxPage id={null} />)
  const drawn = (): string[] =>
    [...container.querySelectorAll('.approval-card')].map((element) => element.getAttribute('data-request') ?? '')
  expect(drawn()).toEqual(flood.slice(0, 50).map(({ id }) => id))
  expect(container.textContent).toContain('210 more wait. They come up as these are answered.')
  expect(container.querySelectorAll('.queue-row')).toHaveLength(200)
  expect(container.textContent).toContain('60 more')
  fireEvent.click(screen.getByText('Show more'))
  expect(drawn()).toHaveLength(100)
  fireEvent.click(container.querySelectorAll('.queue-row')[199]!)
  expect(location.hash).toBe('#/inbox/req_199')
})

test('a request that is gone to is drawn and has the focus, wherever it stands in a flood', async () => {
  const flood = Array.from({ length: 120 }, (_, i) =>
    approval({ id: `req_${i}`, subject: command(['make', `t${i}`]), askedAtMs: i }),
  )
  const host = new ScriptedHost(snapshot({ sessions: [session()], approvals: flood }), answers)
  const { container } = await renderWithHost(host, <InboxPage id="req_110" />)
  expect(container.querySelectorAll('.approval-card')).toHaveLength(51)
  expect(document.activeElement?.getAttribute('data-request')).toBe('req_110')
})

test('with nothing ever connected the Inbox explains how to connect', async () => {
  const host = new ScriptedHost(snapshot(), {
    'agents.list': () => ({
      ok: true,
      value: [
        {
          name: 'Claude Code',
          path: '/usr/bin/claude',
          version: '2',
          connected: [],
          howTo: 'claude mcp add gatehouse -- gatehouse mcp',
        },
      ],
    }),
  })
  await renderWithHost(host, <InboxPage id={null} />)
  expect(screen.getByText('claude mcp add gatehouse -- gatehouse mcp')).toBeDefined()
  // The command line need not be on the search path.
  expect(screen.getByText('node /opt/gatehouse/bin/gatehouse run -- npm test')).toBeDefined()
})
