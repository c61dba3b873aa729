import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Node, Tree } from 'web-tree-sitter'
import type { Effort } from './effort.ts'

/** What a character takes to parse, and what the parser does between two of its reports, in units of effort. */
const CHARACTER_EFFORT = 0.5
const REPORT_EFFORT = 50
/** Reports about one text of 256 KB are fewer; about a quarter of a second. */
const MOST_REPORTS = 3_000
/** With more of them than this, the memory that an unfinished pipeline takes counts in hundreds of megabytes. */
const MOST_PIPES = 3_000

/** Bash's grammar, loaded once for the life of a process. */
export interface ShellGrammar {
  /**
   * Calls `read` with the root of the text's syntax tree, which lives only during the call. `undefined`
   * when the text took too much to parse.
   */
  withTree<T>(text: string, effort: Effort, read: (root: Node) => T): T | undefined
}

/**
 * Loads the grammar. The two WebAssembly files lie beside the bundle (`scripts/build.mjs` puts them
 * there) and, when run from source, in node_modules. Rejects when they are missing or the runtime cannot
 * run them; shell text is then not read, so it is always asked about.
 */
export async function loadShellGrammar(): Promise<ShellGrammar> {
  const [{ Language, Parser }, wasmBinary, bash] = await Promise.all([
    // A chunk of its own: whoever never reads shell text does not pay for the parser at start.
    import('web-tree-sitter'),
    readAsset('web-tree-sitter.wasm', 'web-tree-sitter/web-tree-sitter.wasm'),
    readAsset('tree-sitter-bash.wasm', 'tree-sitter-bash/tree-sitter-bash.wasm'),
  ])
  await Parser.init({ wasmBinary })
  const language = await Language.load(bash)
  let parser = new Parser().setLanguage(language)
  const parse = (text: string, isTooMuch: () => boolean): Tree | null => {
    try {
      return parser.parse(text, null, { progressCallback: isTooMuch })
    } catch {
      // Out of memory, for one: whatever the text, the next one is read again.
      parser.reset()
      parser = new Parser().setLanguage(language)
      return null
    }
  }
  return {
    withTree(text, effort, read) {
      if (!effort.spend(text.length * CHARACTER_EFFORT) || text.split('|', MOST_PIPES).length === MOST_PIPES)
        return undefined
      let reports = 0
      const isTooMuch = () => ++reports > MOST_REPORTS || !effort.spend(REPORT_EFFORT)
      const tree = parse(text, isTooMuch)
      if (!tree) {
        parser.reset()
        return undefined
      }
      try {
        return read(tree.rootNode)
      } finally {
        tree.delete()
      }
    },
  }
}

async function readAsset(name: string, inPackages: string): Promise<Uint8Array> {
  try {
    return await readFile(join(__dirname, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return await readFile(createRequire(join(__dirname, 'from-source.js')).resolve(inPackages))
  }
}
