import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{main,preload,sidecars,scripts}/**/*.test.ts'],
          exclude: ['**/*.integration.test.ts', '**/node_modules/**'],
          environment: 'node',
          pool: 'threads',
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
          pool: 'threads',
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
    ],
  },
})
