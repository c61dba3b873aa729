import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'

/**
 * Bundles one TypeScript entry as the product build does and returns the path of the runnable `.cjs`,
 * in a temporary folder that the caller may delete.
 */
export async function bundleEntry(source: string): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), 'gh-bundle-'))
  await build({
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node18',
      outDir,
      minify: false,
      rolldownOptions: { input: { entry: source }, output: { format: 'cjs', entryFileNames: '[name].cjs' } },
    },
  })
  return join(outDir, 'entry.cjs')
}
