import { cleanup, render } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { RulePreviewPanel } from './rule-preview.tsx'

afterEach(cleanup)

test('a rule about to be made is drawn with nothing hidden, in its words too, one line for each rule', () => {
  const { container } = render(
    <RulePreviewPanel
      preview={{
        words: 'Allow commands that start with curl http://аpple.example/',
        text: 'prefix_rule(pattern=["curl", "http://аpple.example/"])\nprefix_rule(pattern=["true"])',
        matched: { count: 0, denied: 0, examples: [] },
        storedIn: '/home/\u202eada/default.rules',
      }}
    />,
  )
  const [words, text, kept] = [...container.querySelectorAll('.rule-preview > *')]
  const marks = (element: Element | undefined) =>
    [...(element?.querySelectorAll('.hidden-character') ?? [])].map((mark) => mark.getAttribute('aria-label'))
  expect(marks(words)).toHaveLength(1)
  expect(marks(text)).toEqual(marks(words))
  expect(text?.children).toHaveLength(2)
  expect(marks(kept)).toHaveLength(1)
})
