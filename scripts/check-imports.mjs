// Holds the direction of imports between the folders of the house (docs/architecture.md, "Folders").
// Exits 1 and names each import that goes the wrong way.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** For files below `from` (first match wins): repo folders they may import, and whether Node and Electron are open to them. */
const LAWS = [
  { from: 'sidecars/protocol/', may: ['sidecars/protocol/'], node: false, electron: false },
  {
    from: 'sidecars/rpc/',
    may: ['sidecars/protocol/', 'sidecars/rpc/'],
    testsMay: ['sidecars/testing/'],
    node: true,
    electron: false,
  },
  {
    from: 'sidecars/tcp/',
    may: ['sidecars/tcp/'],
    testsMay: ['sidecars/testing/', 'sidecars/network-proxy/test-kit/'],
    node: true,
    electron: false,
  },
  {
    from: 'sidecars/rules/',
    may: ['sidecars/protocol/', 'sidecars/rules/'],
    testsMay: ['sidecars/testing/'],
    node: true,
    electron: false,
  },
  {
    // A command's own proxy runs here, in front of the host's: the network proxy has one door for that.
    from: 'sidecars/exec-server/managed-network/',
    may: ['sidecars/protocol/', 'sidecars/rpc/', 'sidecars/exec-server/', 'sidecars/network-proxy/embed.ts'],
    testsMay: ['sidecars/testing/'],
    node: true,
    electron: false,
  },
  ...['exec-server', 'mcp-server', 'network-proxy'].map((name) => ({
    from: `sidecars/${name}/`,
    may: [
      'sidecars/protocol/',
      'sidecars/rpc/',
      'sidecars/rules/',
      'sidecars/tcp/',
      `sidecars/${name}/`,
      ...(name === 'mcp-server' ? ['sidecars/exec-server/client/'] : []),
    ],
    testsMay: ['sidecars/testing/'],
    node: true,
    electron: false,
  })),
  { from: 'sidecars/testing/', may: ['sidecars/'], node: true, electron: false },
  { from: 'preload/', may: ['preload/', 'sidecars/protocol/'], node: false, electron: true },
  {
    from: 'renderer/',
    may: ['renderer/', 'preload/api', 'sidecars/protocol/'],
    testsMay: ['sidecars/testing/fast-check'],
    node: false,
    electron: false,
  },
  ...['main/desktop/', 'main/ipc/', 'main/index.ts'].map((from) => ({
    from,
    may: ['main/', 'preload/api', 'preload/channels', 'sidecars/protocol/', 'sidecars/rpc/'],
    testsMay: ['sidecars/testing/'],
    node: true,
    electron: true,
  })),
  {
    from: 'main/',
    may: [
      'main/',
      'preload/api',
      'sidecars/protocol/',
      'sidecars/rpc/',
      'sidecars/rules/',
      'sidecars/exec-server/client/',
      'sidecars/mcp-server/client/',
      'sidecars/network-proxy/client/',
    ],
    testsMay: ['sidecars/testing/'],
    not: ['main/desktop/', 'main/ipc/', 'main/index'],
    node: true,
    electron: false,
  },
  { from: 'e2e/', may: ['e2e/', 'preload/api', 'sidecars/protocol/', 'sidecars/testing/'], node: true, electron: true },
]
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(\s*|\brequire\s*\(\s*|^\s*import\s+)['"]([^'"]+)['"]/gm
const isTest = (file) => /\.test\.tsx?$/.test(file)
const builtins = new Set(builtinModules)

function* sources(folder) {
  for (const name of readdirSync(join(root, folder))) {
    const path = `${folder}/${name}`
    if (statSync(join(root, path)).isDirectory()) yield* sources(path)
    else if (/\.tsx?$/.test(name)) yield path
  }
}

const faults = []
for (const top of ['main', 'preload', 'renderer', 'sidecars', 'e2e'])
  for (const file of sources(top)) {
    const law = LAWS.find((l) => file.startsWith(l.from))
    if (!law) continue
    for (const [, target] of readFileSync(join(root, file), 'utf8').matchAll(IMPORT)) {
      const fault = judge(law, file, target)
      if (fault) faults.push(`${file}: imports ${target}: ${fault}`)
    }
  }

function judge(law, file, target) {
  const bare = target.replace(/^node:/, '')
  if (target === 'electron') return law.electron ? null : 'this folder never touches Electron'
  if (target.startsWith('node:') || builtins.has(bare))
    return law.node || isTest(file) || file.endsWith('vite.config.ts') ? null : 'this folder never touches Node'
  if (!target.startsWith('.')) return null
  const path = relative(root, resolve(dirname(join(root, file)), target))
  const may = [...law.may, ...(isTest(file) && law.testsMay ? law.testsMay : [])]
  if (law.not?.some((p) => path.startsWith(p)) && !law.not.some((p) => file.startsWith(p)))
    return 'Electron-free code may not depend on the desktop'
  return may.some((p) => path.startsWith(p)) ? null : `may import only ${may.join(', ')}`
}

for (const fault of faults) console.error(fault)
console.error(
  faults.length === 0 ? 'imports: all in the allowed direction' : `imports: ${faults.length} in the wrong direction`,
)
process.exitCode = faults.length === 0 ? 0 : 1
