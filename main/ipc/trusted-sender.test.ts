import { expect, test } from 'vitest'
import { isTrustedSender } from './trusted-sender.ts'

const ours = { url: 'app://gatehouse/index.html' }

test('the top frame of our own page is trusted', () => {
  expect(isTrustedSender({ senderFrame: ours, sender: { mainFrame: ours } })).toBe(true)
})

test('a frame inside our page is not, even with our address', () => {
  expect(isTrustedSender({ senderFrame: { url: ours.url }, sender: { mainFrame: ours } })).toBe(false)
})

test('the top frame of another page is not', () => {
  const foreign = { url: 'data:text/html,hello' }
  expect(isTrustedSender({ senderFrame: foreign, sender: { mainFrame: foreign } })).toBe(false)
})

test('a frame that is gone is not', () => {
  expect(isTrustedSender({ senderFrame: null, sender: { mainFrame: ours } })).toBe(false)
})
