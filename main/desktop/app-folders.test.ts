import { expect, test } from 'vitest'
import { windowProfileFolder } from './app-folders.ts'

test('the profile stands where the platform puts it unless somebody says otherwise', () => {
  expect(windowProfileFolder({})).toBeUndefined()
})

test('another data folder is another Gatehouse, with a profile of its own', () => {
  expect(windowProfileFolder({ GATEHOUSE_HOME: '/srv/second' })).toBe('/srv/second/window')
})

test('a profile folder that is named wins', () => {
  expect(windowProfileFolder({ GATEHOUSE_HOME: '/srv/second', GATEHOUSE_USER_DATA: '/tmp/profile' })).toBe(
    '/tmp/profile',
  )
})
