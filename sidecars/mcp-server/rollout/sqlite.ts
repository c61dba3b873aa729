/** The one door to SQLite: `node:sqlite` where the runtime has it, else the `libsql` package. */
import { createRequire } from 'node:module'

export type SqlValue = string | number | null
export interface SqlStatement {
  run(...values: SqlValue[]): unknown
  get(...values: SqlValue[]): Record<string, SqlValue> | undefined
  all(...values: SqlValue[]): Record<string, SqlValue>[]
}
export interface SqlDatabase {
  exec(sql: string): void
  prepare(sql: string): SqlStatement
  close(): void
}

/** Neither engine can be loaded; the message says what to install. */
export class SqliteMissing extends Error {
  override readonly name = 'SqliteMissing'
}

/** Opens (and makes) a database file. Throws SqliteMissing, or the engine's error for a bad file. */
export function openSqlite(path: string): SqlDatabase {
  const load = createRequire(__filename)
  try {
    const { DatabaseSync } = load('node:sqlite') as { DatabaseSync: new (path: string) => SqlDatabase }
    return new DatabaseSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_BUILTIN_MODULE') throw error
  }
  let Database: new (path: string) => SqlDatabase
  try {
    Database = load('libsql') as typeof Database
  } catch (error) {
    throw new SqliteMissing(
      'no SQLite: this Node has no node:sqlite; run `npm install libsql` or use Node 22.13 or newer',
      { cause: error },
    )
  }
  return new Database(path)
}
