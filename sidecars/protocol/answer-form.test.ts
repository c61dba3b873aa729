import { expect, test } from 'vitest'
import { answerFields, checkAnswers } from './answer-form.ts'
import type { Subject } from './subject.ts'

const form = (properties: object, required: string[] = []): Subject => ({
  kind: 'elicitation',
  serverName: 's',
  message: 'm',
  schema: { type: 'object', properties, required },
})
const check = (subject: Subject, given: Record<string, unknown>) => checkAnswers(answerFields(subject)!, given)

test('a question with choices wants one of them, or words where those are taken', () => {
  const ask = (isOther: boolean): Subject => ({
    kind: 'question',
    questions: [
      {
        id: 'db',
        header: 'Store',
        question: 'Which?',
        isOther,
        isSecret: false,
        options: [{ label: 'SQLite', description: 'a file' }],
      },
      { id: 'pin', header: '', question: 'The pin?', isOther, isSecret: true, options: null },
    ],
  })
  expect(answerFields(ask(true))).toMatchObject([
    { name: 'db', title: 'Which?', kind: 'one', mayBeOther: true, isRequired: true },
    { name: 'pin', kind: 'text', isSecret: true },
  ])
  expect(check(ask(true), { db: 'in my head', pin: '1' })).toEqual({
    answers: { db: 'in my head', pin: '1' },
    problems: {},
  })
  expect(check(ask(false), { db: 'in my head' }).problems).toEqual({
    db: 'is none of the choices',
    pin: 'needs an answer',
  })
})

test.each([
  [{ type: 'string', minLength: 3 }, 'ab', 'wants at least 3 characters'],
  [{ type: 'string', format: 'email' }, 'nobody', 'wants an email address'],
  [{ type: 'string', format: 'email' }, 'a@b.c', undefined],
  [{ type: 'integer', minimum: 1 }, 0, 'wants at least 1'],
  [{ type: 'integer' }, 1.5, 'wants a whole number'],
  [{ type: 'number' }, 'x', 'wants a number'],
  [{ type: 'boolean' }, 'yes', 'wants yes or no'],
  [{ type: 'boolean' }, false, undefined],
  [{ type: 'string', enum: ['a'], enumNames: ['A'] }, 'b', 'is none of the choices'],
  [{ type: 'string', oneOf: [{ const: 'a', title: 'A' }] }, 'a', undefined],
  [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, ['a'], 'wants at least 2 choices'],
  [{ type: 'array', items: { anyOf: [{ const: 'a' }] } }, ['a'], undefined],
  [{ type: 'object' }, { any: 1 }, undefined],
])('%j filled in with %j', (property, value, problem) => {
  expect(check(form({ x: property }, ['x']), { x: value }).problems.x).toBe(problem)
})

test('only what was asked for is sent on, and only what is needed is missed', () => {
  const subject = form({ a: { type: 'string' }, b: { type: 'string' } }, ['a'])
  expect(check(subject, { a: 'x', b: '', sudo: true })).toEqual({ answers: { a: 'x' }, problems: {} })
  expect(check(subject, {}).problems).toEqual({ a: 'needs an answer' })
  expect(answerFields({ kind: 'toolUse', toolName: 't', input: {} })).toBeNull()
})
