import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { GATEHOUSE_VERSION } from './version.ts'

test('the version told to peers is the version of the package', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  expect(GATEHOUSE_VERSION).toBe(manifest.version)
})
