import { expect, it } from 'vitest'
import { showSelfTest } from './self-test-notice.ts'

it('a failed self-test is an error in front of everything until one passes', () => {
  const shown = new Map<string, { level: string; message: string }>()
  const notices = {
    raise: (id: string, notice: { level: string; message: string }) => void shown.set(id, notice),
    clear: (id: string) => void shown.delete(id),
  }
  showSelfTest(notices, ['port 3128 is taken', 'Self-test failed: a forbidden host was not refused.'])
  expect([...shown.values()]).toEqual([
    {
      level: 'error',
      message: 'The network proxy cannot be trusted. Self-test failed: a forbidden host was not refused.',
    },
  ])
  showSelfTest(notices, ['port 3128 is taken'])
  expect(shown.size).toBe(0)
})
