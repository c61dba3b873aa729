import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Node } from 'web-tree-sitter'
import { cpuMs } from './time-spent.ts'

/** A text that takes longer than this to parse is not read at all: it asks. */
const PARSE_LIMIT_MS = 250

/** Bash's grammar, loaded once for the life of a process. */
export interface ShellGrammar {
  /**
   * Calls `read` with the root of the text's syntax tree, which lives only during the call. `undefined`
   * when the text took too long to parse.
   */
  withTree<T>(text: string, read: (root: Node) => T): T | undefined
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
  const parser = new Parser()
  parser.setLanguage(await Language.load(bash))
  return {
    withTree(text, read) {
      const deadlineMs = cpuMs() + PARSE_LIMIT_MS
      const tree = parser.parse(text, null, { progressCallback: () => cpuMs() > deadlineMs })
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
