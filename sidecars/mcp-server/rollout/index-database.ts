/** The SQLite file behind the thread index: its tables, its version, its statements. */
import { rmSync } from 'node:fs'
import { openSqlite, type SqlDatabase, type SqlStatement } from './sqlite.ts'

/** Raised when a table changes; an index of another version is thrown away and built again. */
const INDEX_VERSION = 4

const SCHEMA = `
create table if not exists threads (
  id text primary key, path text, archived integer, created_at integer, updated_at integer, cwd text,
  model_provider text, source text, parent_id text, words text, indexed_bytes integer, next_ordinal integer,
  thread text
) without rowid;
create index if not exists threads_by_update on threads (archived, updated_at, id);
create index if not exists threads_by_creation on threads (archived, created_at, id);
create index if not exists threads_by_path on threads (path);
create index if not exists threads_by_parent on threads (parent_id) where parent_id is not null;
create table if not exists facts (name text primary key, value) without rowid;
create table if not exists thread_states (thread_id text primary key, turn_context text, extras text) without rowid;
create table if not exists turns (
  thread_id text, ordinal integer, turn_id text, root_turn_id text, status text, started_at integer, completed_at integer,
  duration_ms integer, error text, primary key (thread_id, ordinal)
) without rowid;
create table if not exists items (
  thread_id text, ordinal integer, turn_id text, item_id text, kind text, offset integer, length integer,
  primary key (thread_id, ordinal)
) without rowid;
create index if not exists items_by_turn on items (thread_id, turn_id, ordinal);
`

/** Prepared statements kept. */
const MAX_STATEMENTS = 200

/** Owned by the thread index. All calls are synchronous and short. */
export class IndexDatabase {
  private readonly statements = new Map<string, SqlStatement>()

  private constructor(
    private readonly db: SqlDatabase,
    /** All files were read into it once; otherwise it has to be built from them. */
    private built: boolean,
  ) {}

  /**
   * Opens the index; one of another version is replaced by an empty one, and so is one that is no
   * database, which `discard` has to move away first.
   */
  static open(path: string, discard: (path: string) => void): IndexDatabase {
    try {
      return IndexDatabase.tryOpen(path) ?? IndexDatabase.afterDelete(path)
    } catch (error) {
      if ((error as Error).name === 'SqliteMissing') throw error
      discard(path)
      return IndexDatabase.afterDelete(path)
    }
  }

  /** What is left of a database's log would be read into the new one. */
  private static afterDelete(path: string): IndexDatabase {
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    const index = IndexDatabase.tryOpen(path)
    if (!index) throw new Error(`${path} is being made anew by another version of this program`)
    return index
  }

  /** Null for an index of another version. */
  private static tryOpen(path: string): IndexDatabase | null {
    const db = openSqlite(path)
    try {
      // The files are the truth, so the index need not survive a power cut, only a crash.
      db.exec(
        'pragma busy_timeout = 5000; pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -4000',
      )
      const version = Number(db.prepare('pragma user_version').get()?.user_version ?? 0)
      if (version === 0) db.exec(`begin immediate; ${SCHEMA} pragma user_version = ${INDEX_VERSION}; commit`)
      else if (version !== INDEX_VERSION) {
        db.close()
        return null
      }
      const built = db.prepare(`select 1 from facts where name = 'built'`).get() !== undefined
      return new IndexDatabase(db, built)
    } catch (error) {
      db.close()
      throw error
    }
  }

  get isBuilt(): boolean {
    return this.built
  }

  /** Remembers, also for the next start, that all files were read. */
  markBuilt(): void {
    if (this.built) return
    this.sql(`insert or replace into facts values ('built', 1)`).run()
    this.built = true
  }

  /** All or nothing, and much faster than one by one. */
  transaction(work: () => void): void {
    this.db.exec('begin immediate')
    try {
      work()
      this.db.exec('commit')
    } catch (error) {
      this.db.exec('rollback')
      throw error
    }
  }

  close(): void {
    this.statements.clear()
    this.db.exec('pragma wal_checkpoint(truncate)')
    this.db.close()
  }

  /** A prepared statement, kept for the next time. */
  sql(text: string): SqlStatement {
    let statement = this.statements.get(text)
    if (!statement) {
      // Texts differ by the number of their values, so a client could make any number of them.
      if (this.statements.size >= MAX_STATEMENTS) this.statements.clear()
      this.statements.set(text, (statement = this.db.prepare(text)))
    }
    return statement
  }
}

/** Places for so many values. */
export const marks = (values: readonly unknown[]): string => values.map(() => '?').join(',')
