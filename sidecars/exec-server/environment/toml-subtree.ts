type TomlTable = Record<string, unknown>

const isTable = (value: unknown): value is TomlTable =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** Sets a member also when it has a name of Object's own. */
function put(table: TomlTable, key: string, value: unknown): void {
  Object.defineProperty(table, key, { value, enumerable: true, configurable: true, writable: true })
}

/**
 * The parts of a table that the key paths name, under their full paths. A path that leads into a value
 * ends there; one that leads nowhere leaves the tables on its way, empty. Paths of any length are safe.
 */
export function selectSubtrees(table: TomlTable, paths: readonly string[][]): TomlTable {
  const selected: TomlTable = {}
  for (const path of paths) copyPath(table, selected, path)
  return selected
}

function copyPath(from: TomlTable, into: TomlTable, path: readonly string[]): void {
  let source = from
  let target = into
  for (const [depth, key] of path.entries()) {
    if (!Object.hasOwn(source, key)) return
    const value = source[key]
    if (depth === path.length - 1 || !isTable(value)) return put(target, key, value)
    const existing = Object.hasOwn(target, key) ? target[key] : undefined
    // An earlier path took this table whole.
    if (existing === value) return
    const branch = isTable(existing) ? existing : {}
    if (branch !== existing) put(target, key, branch)
    source = value
    target = branch
  }
}
