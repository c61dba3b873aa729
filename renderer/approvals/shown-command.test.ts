import fc from '../../sidecars/testing/fast-check.ts'
import { expect, test } from 'vitest'
import { readShellText } from './shell-parts.ts'
import { cutIntoLines, showCommand } from './shown-command.ts'

test('a shell call shows its script and what it runs through', () => {
  expect(showCommand(['bash', '-lc', 'npm test && rm -rf dist', 'name', 'a b'])).toMatchObject({
    text: 'npm test && rm -rf dist',
    through: 'bash -lc',
    parameters: "name 'a b'",
  })
})

test('E82 separators in an argv are arguments, not separators', () => {
  const shown = showCommand(['cd', 'p', '&&', 'ls'])
  expect(shown.text).toBe("cd p '&&' ls")
  expect(shown.lines[0]?.parts.map((part) => part.kind)).toEqual(['program', 'argument'])
  expect(shown.notes).toHaveLength(1)
})

test('every real line is a line', () => {
  const script = Array.from({ length: 980 }, (_, i) => `echo step ${i}`).join('\n')
  expect(showCommand(['sh', '-c', script]).lines).toHaveLength(980)
})

test('the lines hold every part of the text', () => {
  const unit = fc.constantFrom(...'a \n\'"$(){};')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
      const lines = cutIntoLines(text, readShellText(text).parts)
      expect(lines.map((line) => text.slice(line.start, line.end)).join('\n')).toBe(text)
      for (const line of lines)
        expect(line.parts.map((part) => text.slice(part.start, part.end)).join('')).toBe(
          text.slice(line.start, line.end),
        )
    }),
    { numRuns: 2_000 },
  )
})
