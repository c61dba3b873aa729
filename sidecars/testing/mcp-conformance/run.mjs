// Measures the product's HTTP entry with the MCP conformance suite, both protocol revisions:
//   node sidecars/testing/mcp-conformance/run.mjs NODE22 SUITE [revision ...]
// NODE22 is a Node 22 binary (the suite needs it, for itself only), SUITE the path of the installed
// package @modelcontextprotocol/conformance (0.2.0-alpha.12). Set SERVER_NODE to serve on another Node.
// Exit 0 = everything that the revisions' frozen requirement lists ask for has passed.
import { spawn, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const [node22, suite, ...revisions] = process.argv.slice(2)
if (!node22 || !suite) throw new Error('usage: run.mjs NODE22 SUITE [revision ...]')
const here = dirname(fileURLToPath(import.meta.url))
const outDir = join(here, '../../../out/mcp-conformance')

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
    rolldownOptions: { input: join(here, 'entry.ts'), output: { format: 'cjs', entryFileNames: 'entry.cjs' } },
  },
})
const server = spawn(process.env.SERVER_NODE ?? process.execPath, [join(outDir, 'entry.cjs')], {
  stdio: ['ignore', 'pipe', process.env.VERBOSE ? 'inherit' : 'ignore'],
})
try {
  const url = await new Promise((resolve, reject) => {
    server.stdout.once('data', (chunk) => resolve(String(chunk).trim()))
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  })
  for (const revision of revisions.length > 0 ? revisions : ['2025-11-25', '2026-07-28']) {
    const { status, stdout } = spawnSync(
      node22,
      [join(suite, 'dist/index.js'), 'server', '--url', url, '--requirements', revision],
      { encoding: 'utf8', maxBuffer: 1 << 28 },
    )
    console.log(`== ${revision}: exit ${status}`)
    console.log(process.env.VERBOSE ? stdout : stdout.slice(stdout.indexOf('=== SUMMARY')))
    if (status !== 0) process.exitCode = 1
  }
} finally {
  server.kill()
  rmSync(outDir, { recursive: true, force: true })
}
