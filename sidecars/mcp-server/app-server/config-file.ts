/** `config.toml` of the home folder: read in layers, written key by key. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'smol-toml'
import { invalidRequest } from './wire-error.ts'

export type ConfigTable = Record<string, unknown>

export interface ConfigLayer {
  name: { type: 'sessionFlags' } | { type: 'user'; file: string; profile: null } | { type: 'system'; file: string }
  version: string
  config: ConfigTable
}

const SYSTEM_FILE = '/etc/codex/config.toml'
const SETTLED_MS = 100
/** A key path deeper than this is a mistake, not a setting. */
const MAX_KEY_DEPTH = 64

export interface LoadedConfig {
  /** Merged, highest layer first in `layers`. */
  config: ConfigTable
  layers: ConfigLayer[]
  /** A file that cannot be read: the others still count. */
  problems: { path: string; message: string }[]
}

export class ConfigFile {
  readonly path: string
  private known: { state: string; loaded: LoadedConfig } | null = null

  constructor(home: string) {
    this.path = join(home, 'config.toml')
  }

  /** The files' content; they are read again only when they have changed. Callers leave it as it is. */
  async load(): Promise<LoadedConfig> {
    const files = [this.path, SYSTEM_FILE].map(stateOf)
    const state = files.map((file) => file.state).join()
    if (this.known?.state === state) return this.known.loaded
    const loaded = this.read()
    // A file of this very moment may change again without another time stamp.
    const settled = files.every(({ changedAtMs }) => Math.abs(Date.now() - changedAtMs) > SETTLED_MS)
    this.known = settled ? { state, loaded } : null
    return loaded
  }

  private read(): LoadedConfig {
    const problems: LoadedConfig['problems'] = []
    const layers: ConfigLayer[] = []
    for (const [file, name] of [
      [this.path, { type: 'user', file: this.path, profile: null }],
      [SYSTEM_FILE, { type: 'system', file: SYSTEM_FILE }],
    ] as const) {
      let text: string
      try {
        text = readFileSync(file, 'utf8')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
          problems.push({ path: file, message: (error as Error).message })
        continue
      }
      try {
        layers.push({ name, version: versionOf(text), config: parse(text) as ConfigTable })
      } catch (error) {
        problems.push({ path: file, message: (error as Error).message })
      }
    }
    return {
      config: layers.reduceRight<ConfigTable>((merged, layer) => merge(merged, layer.config), {}),
      layers,
      problems,
    }
  }

  /**
   * Writes values into the user's file, whole or not at all; `null` removes a key. Comments of changed
   * tables are not kept by the TOML library, so a copy of the old file stays beside it.
   * @throws WireError when `expectedVersion` is not the file's
   */
  async write(
    edits: readonly { keyPath: string; value: unknown; upsert: boolean }[],
    expectedVersion: string | null,
  ): Promise<{ version: string }> {
    const before = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    if (expectedVersion !== null && expectedVersion !== versionOf(before))
      throw invalidRequest(`expectedVersion: the file ${this.path} has changed; read the configuration again`)
    const config = parse(before) as ConfigTable
    for (const edit of edits) setKey(config, edit.keyPath, edit.value, edit.upsert)
    const after = stringify(config)
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 })
    if (before !== '') await replace(`${this.path}.before`, before)
    await replace(this.path, after)
    return { version: versionOf(after) }
  }
}

function stateOf(path: string): { state: string; changedAtMs: number } {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path)
    return { state: `${ino}:${size}:${mtimeMs}:${ctimeMs}`, changedAtMs: ctimeMs }
  } catch (error) {
    return { state: String((error as NodeJS.ErrnoException).code), changedAtMs: 0 }
  }
}

const versionOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

async function replace(path: string, text: string): Promise<void> {
  const side = `${path}.new-${process.pid}`
  try {
    const file = await open(side, 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(side, path)
  } catch (error) {
    await unlink(side).catch(() => undefined) // It was never made; the first error counts.
    throw error
  }
}

function setKey(config: ConfigTable, keyPath: string, value: unknown, upsert: boolean): void {
  const keys = splitKey(keyPath)
  let table = config
  for (const key of keys.slice(0, -1)) {
    const inner = Object.hasOwn(table, key) ? table[key] : undefined
    if (inner !== undefined && !isTable(inner))
      throw invalidRequest(`keyPath: "${key}" in ${keyPath} is a value, not a table`)
    if (inner === undefined)
      Object.defineProperty(table, key, { value: {}, enumerable: true, writable: true, configurable: true })
    table = table[key] as ConfigTable
  }
  const last = keys.at(-1)!
  if (value === null) delete table[last]
  else table[last] = upsert && isTable(value) && isTable(table[last]) ? merge(table[last], value) : value
}

/** `a.b."c.d"` -> ["a", "b", "c.d"]. */
export function splitKey(keyPath: string): string[] {
  const keys: string[] = []
  const pattern = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(?:\.|$)/y
  let at = 0
  while (at < keyPath.length) {
    pattern.lastIndex = at
    const found = pattern.exec(keyPath)
    if (!found || keys.length >= MAX_KEY_DEPTH)
      throw invalidRequest(`keyPath: "${keyPath.slice(0, 100)}" is not a key like model_providers.x.base_url`)
    keys.push(found[1] ?? found[2] ?? found[3]!)
    at = pattern.lastIndex
  }
  if (keys.length === 0 || keyPath.trimEnd().endsWith('.')) throw invalidRequest('keyPath: is empty')
  return keys
}

const isTable = (value: unknown): value is ConfigTable =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** `over` wins; tables are merged member by member. */
export function merge(under: ConfigTable, over: ConfigTable): ConfigTable {
  const out: ConfigTable = { ...under }
  for (const [key, value] of Object.entries(over)) {
    const before = out[key]
    out[key] = isTable(value) && isTable(before) ? merge(before, value) : value
  }
  return out
}

/** Overrides of `thread/start.config`: dotted keys become tables. */
export function tableOfOverrides(overrides: ConfigTable): ConfigTable {
  const table: ConfigTable = {}
  for (const [key, value] of Object.entries(overrides)) setKey(table, key, value, true)
  return table
}
