// Holds what the documents say about the tree: linked files and headings, paths of the house, npm scripts and
// commands of `gatehouse` exist. Exits 1 and names each that does not.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const read = (path) => readFileSync(join(root, path), 'utf8')

/** Words that begin like this are paths from the root, not something on the wire or in the data folder. */
const OF_THE_HOUSE = /^(?:main|preload|renderer|sidecars|e2e|scripts|bin|docs|build)\/[\w./*{},-]*$/

const scripts = new Set(Object.keys(JSON.parse(read('package.json')).scripts))
const commands = commandNames()
const inFolders = ['docs', 'renderer', 'sidecars'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
)
const documents = ['README.md', ...inFolders.filter((path) => path.endsWith('.md'))]
const faults = documents.flatMap(faultsOf)
for (const fault of faults) console.error(fault)
console.log(faults.length === 0 ? 'docs: everything named exists' : `docs: ${faults.length} not found`)
process.exitCode = faults.length === 0 ? 0 : 1

function faultsOf(path) {
  const text = read(path)
  const found = []
  for (const [, target, heading] of text.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
    if (/^[a-z]+:/.test(target)) continue
    const file = target === '' ? path : join(dirname(path), target)
    if (!existsSync(join(root, file))) found.push(`${path}: there is no ${target}`)
    else if (heading !== undefined && !headingsOf(file).has(heading))
      found.push(`${path}: there is no heading #${heading} in ${file}`)
  }
  for (const code of codeOf(text)) {
    if (OF_THE_HOUSE.test(code) && !existsSync(join(root, code.replace(/[^/]*[*{].*$/, ''))))
      found.push(`${path}: there is no ${code}`)
    const [, file] = /^node (scripts\/\S+)/.exec(code) ?? []
    if (file !== undefined && !existsSync(join(root, file))) found.push(`${path}: there is no ${file}`)
    const [, script] = /\bnpm run (?:--\S+ )*([\w:-]+)/.exec(code) ?? []
    if (script !== undefined && !scripts.has(script)) found.push(`${path}: there is no npm script ${script}`)
    const [, command] = /^(?:node (?:\S*\/)?bin\/)?gatehouse ([a-z][a-z-]*)/.exec(code) ?? []
    if (command !== undefined && !commands.has(command)) found.push(`${path}: gatehouse has no command ${command}`)
  }
  return found
}

/** Code spans, and the lines of code blocks. */
function codeOf(text) {
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, block]) => block.split('\n'))
  const spans = [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, span]) => span)
  return [...blocks, ...spans].map((code) => code.trim())
}

/** As GitHub makes anchors of headings. */
function headingsOf(path) {
  const headings = [...read(path).matchAll(/^#{1,6} (.+)$/gm)].map(([, words]) => words)
  return new Set(
    headings.map((words) =>
      words
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Those of the command line, and those that `bin/gatehouse` starts without it. */
function commandNames() {
  const own = readdirSync(join(root, 'main/cli')).flatMap((file) =>
    [...read(join('main/cli', file)).matchAll(/^ {2}name: '([a-z-]+)'/gm)].map(([, name]) => name),
  )
  const tables = [...read('bin/gatehouse').matchAll(/^var (?:SIDECARS|COMPANIONS) = \{([\s\S]*?)\}/gm)]
  const started = tables.flatMap(([, table]) => [...table.matchAll(/'?([a-z-]+)'?: '/g)].map(([, name]) => name))
  return new Set([...own, ...started])
}
