import { defineConfig } from '@playwright/test'

/** Figures for docs/performance.md, see scripts/measure-window.mjs; no part of `npm test`. */
export default defineConfig({
  testDir: './measure',
  outputDir: '../test-results/measure',
  workers: 1,
  timeout: 600_000,
  expect: { timeout: 60_000 },
})
