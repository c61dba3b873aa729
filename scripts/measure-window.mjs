// The figures of the window in docs/performance.md: `node scripts/measure-window.mjs [part of a spec's name]`.
import { runInElectron } from './run-in-electron.mjs'

process.exitCode = (await runInElectron('e2e/measure.config.ts', { words: process.argv.slice(2) })) ? 0 : 1
