import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { decode, integer, literal, object, string, type Infer } from '../../sidecars/protocol/decode.ts'
import { isSameProcess, signalProcess, type ProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import { waitFor } from './wait-for.ts'

const entry = object({
  kind: literal('started', 'ended'),
  /** The sidecar, for a process below it too. */
  name: string,
  /** `leader` = the sidecar itself, whose whole group may be signalled. */
  role: literal('leader', 'descendant'),
  pid: integer(1),
  startedAt: string,
})
export type LedgerEntry = Infer<typeof entry>

/** Rewritten with only the live entries beyond this many lines. */
const COMPACT_AFTER_LINES = 2_000

/**
 * The list on disk of processes that must not outlive the host: one JSON line when a process starts and
 * one when it ended. What a host left behind when it was killed is swept by the next one. Processes are
 * known by pid and start time, never by name.
 */
export class Ledger {
  private readonly live = new Map<string, LedgerEntry>()
  private lineCount = 0

  /** `onProblem` hears once when the file cannot be written; supervision goes on without it. */
  constructor(
    private readonly path: string,
    private onProblem: (message: string) => void,
  ) {}

  add(entry: Omit<LedgerEntry, 'kind'>): void {
    const key = keyOf(entry)
    if (this.live.has(key)) return
    const started: LedgerEntry = { kind: 'started', ...entry }
    this.live.set(key, started)
    this.append(started)
  }

  remove(identity: ProcessIdentity): void {
    const started = this.live.get(keyOf(identity))
    if (!started) return
    this.live.delete(keyOf(identity))
    this.append({ ...started, kind: 'ended' })
  }

  /** Processes below the sidecar `name` that are on the list. */
  descendants(name: string): LedgerEntry[] {
    return [...this.live.values()].filter((entry) => entry.name === name && entry.role === 'descendant')
  }

  private append(line: LedgerEntry): void {
    try {
      if (++this.lineCount > COMPACT_AFTER_LINES) {
        writeFileAtomically(this.path, [...this.live.values()].map(formatLine).join(''))
        this.lineCount = this.live.size
      } else appendFileSync(this.path, formatLine(line), { mode: 0o600 })
    } catch (error) {
      this.onProblem(
        `${this.path} cannot be written (${(error as Error).message}); processes that survive a crash of the host would not be found`,
      )
      this.onProblem = () => {}
    }
  }
}

/** What a sweep found and did. */
export interface SweepReport {
  /** Processes that had survived their host and were ended. */
  ended: LedgerEntry[]
  /** Processes that would not end. */
  remaining: LedgerEntry[]
  /** Unreadable lines; the file is kept aside under `keptAs`. */
  problems: string[]
  keptAs?: string
}

/**
 * Ends what an earlier host left behind and empties the list. Only for the holder of the host lock: the
 * processes of a living host are on the list too.
 */
export async function sweepLedger(path: string, graceMs = 1_000): Promise<SweepReport> {
  const report: SweepReport = { ended: [], remaining: [], problems: [] }
  if (!existsSync(path)) return report
  const { entries, problems } = parseLedger(readFileSync(path, 'utf8'))
  report.problems = problems.map((problem) => `${path}:${problem}`)
  if (problems.length > 0) {
    report.keptAs = `${path}.corrupt-${Date.now()}`
    renameSync(path, report.keptAs)
  }
  const left = await filterAlive(entries)
  for (const entry of left) await signalProcess(entry, 'SIGTERM', entry.role === 'leader')
  if (left.length > 0) await waitFor(async () => (await filterAlive(left)).length === 0, graceMs)
  for (const entry of await filterAlive(left)) await signalProcess(entry, 'SIGKILL', entry.role === 'leader')
  if (left.length > 0) await waitFor(async () => (await filterAlive(left)).length === 0, graceMs)
  report.remaining = await filterAlive(left)
  report.ended = left.filter((entry) => !report.remaining.includes(entry))
  writeFileAtomically(path, report.remaining.map(formatLine).join(''))
  return report
}

/** Entries that started and did not end, and what was wrong, each with its line number. A torn last line is no problem. */
export function parseLedger(text: string): { entries: LedgerEntry[]; problems: string[] } {
  const live = new Map<string, LedgerEntry>()
  const problems: string[] = []
  const lines = text.split('\n')
  const isTorn = lines.at(-1) !== ''
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    try {
      const read = decode(entry, JSON.parse(line))
      if (read.kind === 'started') live.set(keyOf(read), read)
      else live.delete(keyOf(read))
    } catch (error) {
      if (!(isTorn && index === lines.length - 1)) problems.push(`${index + 1}: ${(error as Error).message}`)
    }
  }
  return { entries: [...live.values()], problems }
}

/** Those whose process lives, start time compared. */
export async function filterAlive(entries: LedgerEntry[]): Promise<LedgerEntry[]> {
  const alive = await Promise.all(entries.map(isSameProcess))
  return entries.filter((_, index) => alive[index])
}

function writeFileAtomically(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

const keyOf = ({ pid, startedAt }: ProcessIdentity): string => `${pid} ${startedAt}`
const formatLine = (line: LedgerEntry): string => `${JSON.stringify(line)}\n`
