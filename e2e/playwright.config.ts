import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: './specs',
  outputDir: '../test-results',
  // Each test starts an app of its own; two at once only make both slow on a small machine.
  workers: 1,
  fullyParallel: false,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  // A launch can hang on an overloaded machine after both debuggers are attached.
  retries: process.env.CI ? 1 : 0,
  forbidOnly: Boolean(process.env.CI),
})
