import { within } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { approval, command, process, snapshot } from '../testing/view-fixtures.ts'
import { cleanup, renderWithHost } from '../testing/render-with-host.tsx'
import { ScriptedHost } from '../testing/scripted-host.ts'
import { ProcessesPage } from './processes-page.tsx'

afterEach(cleanup)

const waiting = process({ id: 'prc_w', argv: ['make', 'waiting'], state: 'starting', pid: null })
const slow = process({ id: 'prc_s', argv: ['make', 'slow'], state: 'starting', pid: null })
const denied = process({ id: 'prc_d', argv: ['make', 'denied'], state: 'failed', pid: null })
const lost = process({ id: 'prc_l', argv: ['make', 'lost'], state: 'failed', pid: 7, exitedAtMs: 1 })
const request = approval({ id: 'req_9', processId: 'prc_w', subject: command(['make', 'waiting']) })

test('a process that never ran has no duration, and one that waits for the owner says so', async () => {
  const host = new ScriptedHost(snapshot({ approvals: [request], processes: [waiting, slow, denied, lost] }))
  const { getByRole } = await renderWithHost(host, <ProcessesPage id={null} narrowing={null} />)
  const cells = (words: string): string[] => {
    const row = within(getByRole('grid', { name: 'Processes' }))
      .getByText(words)
      .closest('[role="row"]')
    return [...(row?.querySelectorAll('[role="gridcell"]') ?? [])].map((cell) => cell.textContent ?? '')
  }
  const stateAndDuration = (words: string): (string | undefined)[] => [cells(words)[0], cells(words)[5]]
  expect(stateAndDuration('make waiting')).toEqual(['waits for you', ''])
  expect(stateAndDuration('make slow')).toEqual(['starting', ''])
  expect(stateAndDuration('make denied')).toEqual(['not started', ''])
  expect(stateAndDuration('make lost')).toEqual(['lost', expect.stringMatching(/^\d+:\d\d/)])
})
