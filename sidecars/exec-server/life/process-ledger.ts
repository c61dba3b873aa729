import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { integer, literal, object, string, variant } from '../../protocol/decode.ts'
import { readProcStat } from './proc-stat.ts'

/** After this much the file is written anew with what is still alive. */
const MAX_LEDGER_BYTES = 256 * 1024

const line = variant('event', {
  started: object({ kind: literal('g', 'p'), pid: integer(1), startTicks: string }),
  ended: object({ kind: literal('g', 'p'), pid: integer(1) }),
})

export interface LedgerEntry {
  kind: 'g' | 'p'
  pid: number
  startTicks: string
}

/**
 * What we have started, on disk, for the case that we and the watchdog are both killed: the next start
 * reads it and ends what is left. JSON lines; a torn last line is ignored.
 */
export class ProcessLedger {
  private readonly fd: number
  private readonly alive = new Map<string, LedgerEntry>()
  private sizeBytes = 0

  constructor(path: string) {
    this.fd = openSync(path, 'w', 0o600)
  }

  started(entry: LedgerEntry): void {
    this.alive.set(`${entry.kind}${entry.pid}`, entry)
    this.append({ event: 'started', ...entry })
  }

  ended(kind: LedgerEntry['kind'], pid: number): void {
    if (this.alive.delete(`${kind}${pid}`)) this.append({ event: 'ended', kind, pid })
  }

  close(): void {
    closeSync(this.fd)
  }

  private append(record: object): void {
    const text = `${JSON.stringify(record)}\n`
    try {
      writeSync(this.fd, text, this.sizeBytes)
      this.sizeBytes += text.length
    } catch {
      // A full disk must not stop a command; the watchdog is the first line, this the second.
    }
    if (this.sizeBytes > MAX_LEDGER_BYTES) this.rewrite()
  }

  private rewrite(): void {
    const entries = [...this.alive.values()].map((entry) => ({ event: 'started', ...entry }))
    const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    try {
      ftruncateSync(this.fd, 0)
      writeSync(this.fd, text, 0)
      this.sizeBytes = text.length
    } catch {
      this.sizeBytes = 0
    }
  }
}

/**
 * Kills what a ledger of a dead server says is still there: exactly the recorded processes, by pid and
 * start. Returns what was killed.
 */
export function sweepLedger(path: string): LedgerEntry[] {
  return readLedger(path).filter(({ kind, pid, startTicks }) => {
    if (readProcStat(pid)?.startTicks !== startTicks) return false
    try {
      process.kill(kind === 'g' ? -pid : pid, 'SIGKILL')
      return true
    } catch {
      return false
    }
  })
}

function readLedger(path: string): LedgerEntry[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  const alive = new Map<string, LedgerEntry>()
  for (const row of text.split('\n')) {
    if (row === '') continue
    try {
      const record = line(JSON.parse(row), '')
      const key = `${record.kind}${record.pid}`
      if (record.event === 'started') alive.set(key, record)
      else alive.delete(key)
    } catch {
      // Torn by the end of the writer.
    }
  }
  return [...alive.values()]
}
