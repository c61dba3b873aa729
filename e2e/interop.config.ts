import { defineConfig } from '@playwright/test'

/** Against programs that are not ours, see scripts/interop-window.mjs; no part of `npm test`. */
export default defineConfig({
  testDir: './interop',
  outputDir: '../test-results/interop',
  workers: 1,
  timeout: 180_000,
  expect: { timeout: 30_000 },
})
