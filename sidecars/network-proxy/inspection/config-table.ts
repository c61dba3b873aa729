/** One table of a configuration, read key by key with errors that name the key. */
import { ConfigError } from '../config/config-error.ts'

export class ConfigTable {
  private readonly value: Record<string, unknown>

  /** @throws ConfigError when `value` is no table, or has a key that is not among `known` */
  constructor(
    private readonly name: string,
    value: unknown,
    known: readonly string[],
  ) {
    this.value = asTable(name, value)
    for (const key of Object.keys(this.value))
      if (!known.includes(key)) throw new ConfigError(`${name}.${key}`, `unknown key (known keys: ${known.join(', ')})`)
  }

  path(...keys: string[]): string {
    return [this.name, ...keys].join('.')
  }

  raw(key: string): unknown {
    return this.value[key]
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.value[key] ?? fallback
    if (typeof value !== 'boolean') throw new ConfigError(this.path(key), 'expected true or false')
    return value
  }

  string(key: string): string {
    const value = this.value[key]
    if (typeof value !== 'string' || value === '') throw new ConfigError(this.path(key), 'expected a text')
    return value
  }

  /** Absent is an empty list. */
  strings(key: string): string[] {
    const value = this.value[key] ?? []
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
      throw new ConfigError(this.path(key), 'expected a list of texts')
    return value as string[]
  }

  filledStrings(key: string): string[] {
    const list = this.strings(key)
    if (list.length === 0) throw new ConfigError(this.path(key), 'expected at least one value')
    return list
  }

  /** Absent is an empty table; entries in the order of the file. */
  entries(key: string): [string, unknown][] {
    return Object.entries(asTable(this.path(key), this.value[key] ?? {}))
  }

  /** Undefined when the key is absent. */
  table(key: string, known: readonly string[]): ConfigTable | undefined {
    const value = this.value[key]
    return value === undefined ? undefined : new ConfigTable(this.path(key), value, known)
  }

  integer(key: string, { fallback, min, max }: { fallback: number; min: number; max: number }): number {
    const value = this.value[key] ?? fallback
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
      throw new ConfigError(this.path(key), `expected a whole number from ${min} to ${max}`)
    return value
  }

  tables(key: string, known: readonly string[]): ConfigTable[] {
    const value = this.value[key] ?? []
    if (!Array.isArray(value)) throw new ConfigError(this.path(key), 'expected a list of tables')
    return value.map((item, at) => new ConfigTable(`${this.path(key)}[${at}]`, item, known))
  }
}

function asTable(name: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigError(name, 'expected a table')
  return value as Record<string, unknown>
}
