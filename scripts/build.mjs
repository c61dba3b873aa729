// Builds everything into out/: main, preload, sidecars and the command line as CommonJS bundles, the
// window as static files. `node scripts/build.mjs [part ...]` builds only the named parts.
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { stampOf } from './ensure-build.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

// The oldest runtime we support is Node 18.15 / Chromium 114 (Electron 25).
const NODE_TARGET = 'node18'
// Native add-ons and their loaders stay outside the bundles; so do ws's optional accelerators.
const EXTERNAL = ['electron', 'bufferutil', 'utf-8-validate', '@lydell/node-pty', 'libsql', 'node:sqlite']

/** Parts are built beside their place, so that a build that fails leaves what was built before. */
const unfinished = (part) => join(root, 'out', `.unfinished-${part}-${process.pid}`)

function putInPlace(part) {
  const place = join(root, 'out', part)
  const old = join(root, 'out', `.old-${part}-${process.pid}`)
  if (existsSync(place)) renameSync(place, old)
  renameSync(unfinished(part), place)
  rmSync(old, { recursive: true, force: true })
}

/** A CommonJS bundle for a Node host. `entries` maps output name to source file. */
function nodeBundle(outDir, entries) {
  return {
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    resolve: { conditions: ['node', 'import', 'module', 'default'] },
    ssr: { noExternal: true, external: EXTERNAL },
    build: {
      ssr: true,
      target: NODE_TARGET,
      outDir: unfinished(outDir),
      emptyOutDir: true,
      minify: false,
      sourcemap: process.env.GATEHOUSE_SOURCEMAP === '1',
      rolldownOptions: {
        input: entries,
        external: EXTERNAL,
        // web-tree-sitter's loader has an eval for modules that we never load.
        checks: { eval: false },
        output: { format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: 'shared-[name]-[hash].cjs' },
      },
    },
  }
}

/** Shell text is read with a real grammar, which is WebAssembly and lies beside the bundles that load it. */
function copyShellGrammar(outDir) {
  for (const file of ['web-tree-sitter/web-tree-sitter.wasm', 'tree-sitter-bash/tree-sitter-bash.wasm'])
    copyFileSync(join(root, 'node_modules', file), join(unfinished(outDir), basename(file)))
}

async function bundleWithGrammar(outDir, entries) {
  await build(nodeBundle(outDir, entries))
  copyShellGrammar(outDir)
}

const sidecarEntries = Object.fromEntries(
  readdirSync(join(root, 'sidecars'))
    .filter((name) => existsSync(join(root, 'sidecars', name, 'entry.ts')))
    .map((name) => [name, join(root, 'sidecars', name, 'entry.ts')]),
)

// The app server is a command of its own beside the sidecar whose sessions it serves.
sidecarEntries['app-server'] = join(root, 'sidecars/mcp-server/app-server/entry.ts')

const parts = {
  sidecars: () => bundleWithGrammar('sidecars', sidecarEntries),
  cli: () => bundleWithGrammar('cli', { gatehouse: join(root, 'main/cli/entry.ts') }),
  main: () => bundleWithGrammar('main', { index: join(root, 'main/index.ts') }),
  preload: () => build(nodeBundle('preload', { index: join(root, 'preload/index.ts') })),
  renderer: () =>
    build({
      configFile: join(root, 'renderer/vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: unfinished('renderer') },
    }),
}

const wanted = process.argv.slice(2)
for (const name of wanted)
  if (!(name in parts)) throw new Error(`unknown part ${name}; parts: ${Object.keys(parts).join(', ')}`)
for (const [name, run] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const startedAtMs = Date.now()
  await run()
  putInPlace(name)
  // Dated to the start: a source saved while it was being built makes the part stale again.
  writeFileSync(stampOf(name), '')
  utimesSync(stampOf(name), startedAtMs / 1000, startedAtMs / 1000)
  console.error(`built out/${name} in ${Date.now() - startedAtMs} ms`)
}
