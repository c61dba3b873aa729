import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { renderWithHost, settle } from '../testing/render-with-host.tsx'
import { ScriptedHost, type Script } from '../testing/scripted-host.ts'
import { rule, snapshot } from '../testing/view-fixtures.ts'
import { RulesPage } from './rules-page.tsx'

afterEach(cleanup)

const PATH = '/home/ada/.claude/settings.json'

async function show(script: Script): Promise<ScriptedHost> {
  const host = new ScriptedHost(snapshot(), script)
  await renderWithHost(host, <RulesPage id={null} />)
  await settle()
  return host
}

it('asks for trust by name and sends exactly that project', async () => {
  let trust: 'unknown' | 'trusted' = 'unknown'
  const host = await show({
    'projects.list': () => ({ ok: true, value: [{ root: '/work/site', trust, files: ['team.rules'] }] }),
    'projects.trust': () => {
      trust = 'trusted'
      return { ok: true, value: null }
    },
  })
  const projects = screen.getByRole('region', { name: 'Projects with rules' })
  expect(within(projects).getByText('not in force')).toBeTruthy()
  fireEvent.click(within(projects).getByRole('button', { name: 'Trust the rules of /work/site' }))
  await waitFor(() => expect(within(projects).getByText('in force')).toBeTruthy())
  expect(host.callsOf('projects.trust')).toEqual([['/work/site', 'trusted']])
})

it('shows what an import maps and what not, and takes wider rules only when they are chosen', async () => {
  const host = await show({
    'rules.importSources': () => ({ ok: true, value: [{ agentName: 'Claude Code', path: PATH }] }),
    'rules.importPreview': () => ({
      ok: true,
      value: {
        rules: [
          { text: 'A', words: 'Allow commands that start with git diff', from: 'allow: Bash(git diff:*)', wider: null },
          {
            text: 'B',
            words: 'Allow commands that start with ls',
            from: 'allow: Bash(ls)',
            wider: 'it also allows more',
          },
        ],
        unmapped: [{ from: 'allow: Read(x)', why: 'files belong to the sandbox' }],
      },
    }),
    'rules.import': (texts) => ({ ok: true, value: { ruleIds: texts } }),
  })
  fireEvent.click(screen.getByRole('button', { name: `Look into ${PATH}` }))
  await waitFor(() => expect(screen.getByText('1 entry without a rule here')).toBeTruthy())
  const boxes = screen.getAllByRole<HTMLInputElement>('checkbox')
  expect(boxes.map(({ checked }) => checked)).toEqual([true, false])
  fireEvent.click(screen.getByRole('button', { name: 'Add 1 rule' }))
  await settle()
  expect(host.callsOf('rules.import')).toEqual([[['A']]])
})

it('says beside a rule being written what it would have matched', async () => {
  await show({
    'rules.validate': () => ({ ok: true, value: { words: 'Allow commands that start with npm', problem: null } }),
    'rules.preview': () => ({
      ok: true,
      value: { text: '', words: '', storedIn: '', matched: { count: 12, denied: 2, examples: ['npm ci'] } },
    }),
  })
  fireEvent.change(screen.getByRole('textbox', { name: 'Rule text' }), { target: { value: 'prefix_rule(["npm"])' } })
  await waitFor(() =>
    expect(
      screen.getByText(/It would have matched 12 requests of the last 30 days, 2 of them denied, such as npm ci\./),
    ).toBeTruthy(),
  )
})

it('draws a long list of rules in steps; the search and a link find what is not drawn', async () => {
  const rules = Array.from({ length: 250 }, (_, i) =>
    rule({
      id: `rul_${i}`,
      source: 'a.rules',
      line: i + 1,
      text: `prefix_rule(pattern=["tool-${i}."])`,
      words: `Allow tool-${i}.`,
    }),
  )
  const host = new ScriptedHost(snapshot({ rules }))
  const { container } = await renderWithHost(host, <RulesPage id="rul_249" />)
  const rows = (): number => container.querySelectorAll('.rule-row').length
  expect([rows(), container.querySelector('.rule-row.chosen')?.textContent]).toEqual([
    101,
    expect.stringContaining('tool-249.'),
  ])
  fireEvent.click(screen.getByText('Show more of 250 rules'))
  expect(rows()).toBe(201)
  fireEvent.change(screen.getByRole('searchbox', { name: 'Search rules' }), { target: { value: 'tool-240.' } })
  await waitFor(() => expect(rows()).toBe(1))
})
