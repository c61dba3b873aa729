import { expect, test } from 'vitest'
import type { Outcome } from '../../preload/api.ts'
import { InputQueue } from './input-queue.ts'

test('input arrives in order, one piece at a time, what waits together', async () => {
  const sent: string[] = []
  const answers: ((outcome: Outcome<null>) => void)[] = []
  const queue = new InputQueue(
    (text) => {
      sent.push(text)
      return new Promise((resolve) => answers.push(resolve))
    },
    () => {},
  )
  queue.push('a')
  queue.push('b')
  queue.push('c')
  expect(sent).toEqual(['a'])
  answers[0]?.({ ok: true, value: null })
  await Promise.resolve()
  await Promise.resolve()
  expect(sent).toEqual(['a', 'bc'])
})

test('a refused piece is named, and so is what was lost behind it', async () => {
  const failures: string[] = []
  const queue = new InputQueue(
    async () => ({ ok: false, code: 'notFound', message: 'The process has ended.' }),
    (message) => failures.push(message),
  )
  queue.push('a')
  queue.push('bcd')
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(failures).toEqual(['The process has ended. 3 more characters were not sent.'])
})
