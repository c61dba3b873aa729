import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Most tests wait for processes and sockets: one worker per core, not one fewer.
    maxWorkers: '100%',
    globalSetup: ['sidecars/testing/run-folder.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{main,preload,sidecars,scripts}/**/*.test.ts'],
          exclude: ['**/*.integration.test.ts', '**/*.interop.test.ts', '**/node_modules/**'],
          environment: 'node',
          // Processes, not threads: some tests count open files and memory, which threads share.
          pool: 'forks',
          expect: { poll: { timeout: 20_000 } },
          // No test measures time; a busy machine may take its own.
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'renderer',
          include: ['renderer/**/*.test.{ts,tsx}'],
          environment: 'happy-dom',
          // Processes, not threads: some tests count open files and memory, which threads share.
          pool: 'forks',
          expect: { poll: { timeout: 20_000 } },
          testTimeout: 30_000,
        },
      },
      {
        // Starts real sidecars and hosts from out/: run `npm run build` first.
        test: {
          name: 'integration',
          include: ['{main,sidecars}/**/*.integration.test.ts'],
          environment: 'node',
          pool: 'forks',
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Needs programs of others: run by the interop scripts, not by `npm test`.
        test: {
          name: 'interop',
          include: ['sidecars/**/*.interop.test.ts'],
          environment: 'node',
          pool: 'forks',
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
