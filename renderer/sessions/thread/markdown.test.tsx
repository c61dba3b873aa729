import { expect, test } from 'vitest'
import { cleanup, renderWithHost } from '../../testing/render-with-host.tsx'
import { ScriptedHost } from '../../testing/scripted-host.ts'
import { Markdown } from './markdown.tsx'

test('the end of a line is the end of a line, not a hidden character; those in the line are still drawn', async () => {
  const text = 'first line\nsecond \u202eline\n\n> quoted\n> twice\n\n- item\n  goes on'
  const { container } = await renderWithHost(new ScriptedHost(), <Markdown text={text} />)
  expect(container.querySelectorAll('br')).toHaveLength(3)
  expect([...container.querySelectorAll('.hidden-character')].map((mark) => mark.textContent)).toEqual(['\\u{202e}'])
  expect(container.querySelector('blockquote')?.textContent).toBe('quotedtwice')
  cleanup()
})
