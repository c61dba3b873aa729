import { expect, test } from 'vitest'
import { OwnerVariables } from './owner-variables.ts'

test('a variable comes from the host, else from the login shell, which is not asked twice in a row', async () => {
  const asked: string[] = []
  let now = 0
  const variables = new OwnerVariables(
    ({ alsoNames = [] } = {}) => {
      asked.push(...alsoNames)
      return Promise.resolve({
        variables: {},
        also: Object.fromEntries(alsoNames.includes('KEY') ? [['KEY', 'from the profile']] : []),
      })
    },
    { OWN: 'from the start', EMPTY: '' },
    () => now,
  )
  expect(await variables.get('OWN')).toBe('from the start')
  expect([await variables.get('KEY'), await variables.get('KEY'), await variables.get('EMPTY')]).toEqual([
    'from the profile',
    'from the profile',
    null,
  ])
  expect(asked).toEqual(['KEY', 'EMPTY'])
  now = 61_000
  await variables.get('KEY')
  expect(asked).toEqual(['KEY', 'EMPTY', 'KEY'])
})
