import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../sidecars/testing/fast-check.ts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SessionId } from '../../sidecars/protocol/ids.ts'
import { Audit, type AuditEvent, type AuditRecord } from './audit.ts'
import type { JournalLimits, JournalWriterOptions } from './journal-writer.ts'

// Generous: the machine may be busy with many other tests.
vi.setConfig({ testTimeout: 20_000 })
const until = (isSo: () => unknown) => vi.waitUntil(isSo, { timeout: 15_000 })

let folder: string
const open: Audit[] = []
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'gatehouse-audit-')), 'audit')
})
afterEach(async () => {
  for (const audit of open.splice(0)) await audit.close(1000)
})

function openAudit(options: Partial<JournalWriterOptions> = {}, limits: Partial<JournalLimits> = {}): Audit {
  const audit = new Audit({ folder, limits: { firstRetryMs: 5, lastRetryMs: 20, ...limits }, ...options })
  open.push(audit)
  return audit
}
/** A fact and a decision-like record: small ones whose order can be told. */
const fact = (reason: string): AuditEvent => ({ kind: 'session.closed', sessionId: 's' as SessionId, reason })
const durable = (text: string): AuditEvent => ({ kind: 'settings.changed', changed: { text } })

async function records(audit: Audit): Promise<AuditRecord[]> {
  const all: AuditRecord[] = []
  for await (const record of audit.backwards()) all.push(record)
  return all.toReversed()
}
const texts = async (audit: Audit): Promise<unknown[]> =>
  (await records(audit)).map((r) =>
    r.kind === 'settings.changed' ? r.changed.text : 'reason' in r ? r.reason : r.kind,
  )
const nov = Date.UTC(2026, 10, 30, 23, 59)
const file = (name = 'journal-2026-11.jsonl'): string => join(folder, name)

describe('the journal', () => {
  it('writes whole lines that begin with their number, and goes on counting after a restart', async () => {
    const first = openAudit({ now: () => nov })
    first.record(durable('one'))
    first.record(fact('two'))
    await first.close(1000)
    const second = openAudit({ now: () => nov })
    second.record(durable('three'))
    expect(await second.settle(20_000)).toBe(true)
    expect((await readFile(file(), 'utf8')).split('\n')).toEqual([
      '{"seq":1,"at":"2026-11-30T23:59:00.000Z","kind":"settings.changed","changed":{"text":"one"}}',
      '{"seq":2,"at":"2026-11-30T23:59:00.000Z","kind":"session.closed","sessionId":"s","reason":"two"}',
      '{"seq":3,"at":"2026-11-30T23:59:00.000Z","kind":"settings.changed","changed":{"text":"three"}}',
      '',
    ])
  })

  it('shows records that still wait for the disk', async () => {
    const audit = openAudit()
    audit.record(durable('one'))
    audit.record(durable('two'))
    expect(await texts(audit)).toEqual(['one', 'two'])
  })

  it('numbers records that wait after those of earlier runs, also before it could write', async () => {
    const first = openAudit({ now: () => nov })
    first.record(durable('one'))
    await first.close(1000)
    const second = openAudit({ now: () => nov })
    second.record(durable('two'))
    expect((await records(second)).map((r) => r.seq)).toEqual([1, 2])
  })

  it('starts a new file with a new month and never goes back to an older one (E112: order is by number, not by clock)', async () => {
    let now = nov
    const audit = openAudit({ now: () => now })
    audit.record(durable('november'))
    await audit.settle(20_000)
    now += 120_000
    audit.record(durable('december'))
    await audit.settle(20_000)
    now -= 3_600_000
    audit.record(durable('clock set back'))
    await audit.settle(20_000)
    await audit.close(1000)
    const again = openAudit({ now: () => now })
    again.record(durable('after restart'))
    await again.settle(20_000)
    expect(await readdir(folder)).toEqual(['journal-2026-11.jsonl', 'journal-2026-12.jsonl'])
    expect(await texts(again)).toEqual(['november', 'december', 'clock set back', 'after restart'])
    expect((await records(again)).map((r) => r.seq)).toEqual([1, 2, 3, 4])
  })

  it('starts a new part when a file has grown', async () => {
    const audit = openAudit({ now: () => nov }, { fileBytes: 150 })
    for (const text of ['a', 'b', 'c', 'd', 'e']) {
      audit.record(durable(text))
      await audit.settle(20_000)
    }
    expect((await readdir(folder)).sort()).toEqual([
      'journal-2026-11.2.jsonl',
      'journal-2026-11.3.jsonl',
      'journal-2026-11.jsonl',
    ])
    expect(await texts(audit)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('E100 keeps a copy of a torn last record and lets the next one stand on its own line', async () => {
    await mkdir(folder, { recursive: true })
    const whole = '{"seq":7,"at":"2026-11-01T00:00:00.000Z","kind":"host.stopped"}\n'
    await writeFile(file(), `${whole}{"seq":8,"at":"2026-11-01T00:00:01.000Z","kind":"session.clo`)
    const repaired: string[] = []
    const audit = openAudit({ now: () => nov, onRepaired: (aside) => repaired.push(aside) })
    audit.record(durable('next'))
    await audit.settle(20_000)
    expect(repaired).toEqual([file('journal-2026-11.jsonl.torn-20261130T235900000Z')])
    expect(await readFile(repaired[0]!, 'utf8')).toBe('{"seq":8,"at":"2026-11-01T00:00:01.000Z","kind":"session.clo')
    expect((await readFile(file(), 'utf8')).startsWith(`${whole}{"seq":8,"at":"2026-11-30`)).toBe(true)
    expect(await texts(audit)).toEqual(['host.stopped', 'next'])
  })

  it('ends a last record that only lacks its line end', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(file(), '{"seq":7,"at":"2026-11-01T00:00:00.000Z","kind":"host.stopped"}')
    const audit = openAudit({ now: () => nov })
    audit.record(durable('next'))
    await audit.settle(20_000)
    expect((await records(audit)).map((r) => r.seq)).toEqual([7, 8])
    expect(await readdir(folder)).toEqual(['journal-2026-11.jsonl'])
  })

  it('E102 reads a record that an older crash glued to a torn one', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(
      file(),
      '{"seq":1,"kind":"session.closed","reason":"one"}\n{"seq":2,"te{"seq":3,"kind":"session.closed","reason":"three"}\n',
    )
    const audit = openAudit({ now: () => nov })
    expect(await texts(audit)).toEqual(['one', 'three'])
    audit.record(fact('four'))
    await audit.settle(20_000)
    expect((await records(audit)).map((r) => r.seq)).toEqual([1, 3, 4])
  })

  it('E102 loses no record whatever the cut, and every line but a torn one stays readable', async () => {
    const writer = openAudit({ now: () => nov })
    for (let i = 0; i < 20; i++) writer.record(durable(`€ ${i}`))
    await writer.close(1000)
    const bytes = await readFile(file())
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length }), async (cut) => {
        await rm(folder, { recursive: true })
        await mkdir(folder)
        await writeFile(file(), bytes.subarray(0, cut))
        const whole = bytes.subarray(0, cut).toString('utf8').split('\n').slice(0, -1).length
        const audit = openAudit({ now: () => nov })
        audit.record(durable('after'))
        await audit.settle(20_000)
        const all = await texts(audit)
        await audit.close(1000)
        expect(all.at(-1)).toBe('after')
        expect(all.length - 1).toBeGreaterThanOrEqual(whole)
        for (const line of (await readFile(file(), 'utf8')).split('\n').slice(0, -1)) JSON.parse(line)
      }),
      { numRuns: 60 },
    )
  })
})

describe('a disk that refuses', () => {
  it('E106 names the file system and its free space, keeps what is in memory and writes it when the disk is back', async () => {
    await mkdir(folder, { recursive: true })
    await symlink('/dev/full', file())
    const troubles: (string | null)[] = []
    const audit = openAudit({ now: () => nov, onTrouble: (message) => troubles.push(message) })
    audit.record(durable('one'))
    await until(() => troubles.length === 1)
    expect(troubles[0]).toMatch(
      /^The audit journal cannot be written to .*journal-2026-11\.jsonl: the disk is full \(ENOSPC\); [\d,]+ MB free on the file system of /,
    )
    audit.record(durable('two'))
    expect(await texts(audit)).toEqual(['one', 'two'])
    expect(audit.canRecord()).toBe(true)
    await unlink(file())
    await until(() => troubles.length === 2)
    expect(troubles[1]).toBeNull()
    expect((await readFile(file(), 'utf8')).split('\n').map((l) => (l === '' ? '' : JSON.parse(l).seq))).toEqual([
      1,
      2,
      '',
    ])
  })

  it.each(['removed', 'moved', 'removed with its folder'])(
    'goes on in a new file when the old one was %s',
    async (how) => {
      const displaced: string[] = []
      const audit = openAudit({ now: () => nov, onDisplaced: (path) => displaced.push(path) })
      audit.record(durable('first'))
      await audit.settle(1_000)
      if (how === 'moved') await rename(file(), join(folder, 'kept'))
      else await rm(how === 'removed' ? file() : folder, { recursive: true })
      audit.record(durable('second'))
      audit.record(fact('third'))
      await audit.close(1_000)
      expect(displaced).toEqual([file()])
      const lines = (await readFile(file(), 'utf8')).trim().split('\n')
      expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([2, 3])
    },
  )

  it('E106 counts facts it had to drop, keeps decisions, and allows no more when nothing fits', async () => {
    await mkdir(folder, { recursive: true })
    await symlink('/dev/full', file())
    const audit = openAudit({ now: () => nov }, { factBytes: 2_000, hardBytes: 4_000 })
    for (let i = 0; i < 100; i++) audit.record(fact(`fact ${i}`))
    expect(audit.canRecord()).toBe(true)
    audit.record(durable('decision'))
    for (let i = 0; i < 100; i++) audit.record(durable(`decision ${i}`))
    expect(audit.canRecord()).toBe(false)
    await unlink(file())
    await until(() => audit.canRecord())
    await audit.settle(20_000)
    audit.record(fact('after'))
    await audit.settle(20_000)
    const all = await records(audit)
    expect(all.some((r) => r.kind === 'settings.changed' && r.changed.text === 'decision')).toBe(true)
    const gaps = all.filter((r) => r.kind === 'journal.gap')
    const lost = gaps.reduce((sum, gap) => sum + gap.lost, 0)
    expect(all.length - gaps.length + lost).toBe(202)
    expect(all.at(-1)).toMatchObject({ kind: 'session.closed', reason: 'after' })
  })

  it('does not wait for a reader when the journal is a pipe or a folder', async () => {
    const troubles: (string | null)[] = []
    await mkdir(file(), { recursive: true })
    const audit = openAudit({ now: () => nov, onTrouble: (message) => troubles.push(message) })
    audit.record(durable('one'))
    await until(() => troubles.length > 0)
    expect(troubles[0]).toContain('is not a regular file; move it away')
    await rm(file(), { recursive: true })
    expect(await audit.settle(20_000)).toBe(true)
  })

  it('answers from memory while the folder cannot be made', async () => {
    await mkdir(join(folder, '..'), { recursive: true })
    await writeFile(folder, 'a file where the folder should be')
    const audit = openAudit({ now: () => nov })
    audit.record(durable('one'))
    expect(await audit.settle(50)).toBe(false)
    expect(audit.record(durable('two'))).toBeUndefined()
    await rm(folder)
    await audit.settle(20_000)
    expect(await texts(audit)).toEqual(['one', 'two'])
  })
})

describe('pages', () => {
  it('go backwards over files, parts and memory, each record once', async () => {
    let now = nov - 40 * 86_400_000
    const audit = openAudit({ now: () => now }, { fileBytes: 3_000 })
    for (let i = 0; i < 200; i++) {
      audit.record(i % 3 === 0 ? durable(`€${'x'.repeat(i % 50)}`) : fact('y'))
      if (i % 20 === 0) await audit.settle(20_000)
      if (i === 100) now = nov
    }
    const seen: number[] = []
    for (let before: number | null = null; ;) {
      const { entries, next } = await audit.page(before, 7)
      seen.push(...entries.map((entry) => entry.seq))
      if (next === null) break
      before = next
    }
    expect(seen).toEqual(Array.from({ length: 200 }, (_, i) => 200 - i))
  })

  it('find any position, also between torn and very long lines', async () => {
    await mkdir(folder, { recursive: true })
    let text = ''
    for (let seq = 1; seq <= 300; seq++) {
      const reason = seq % 40 === 0 ? 'l'.repeat(100_000) : 'r'
      text += `${JSON.stringify({ seq, at: '2026-11-01T00:00:00Z', kind: 'session.closed', sessionId: 's', reason })}\n`
      if (seq % 50 === 0) text += `{"seq":${seq + 1},"torn\nnot ours\n`
    }
    await writeFile(file(), text)
    const audit = openAudit({ now: () => nov })
    for (const before of [1, 2, 40, 41, 51, 151, 299, 301, 5000]) {
      const { entries } = await audit.page(before, 1)
      expect(entries.map((entry) => entry.seq)).toEqual(before === 1 ? [] : [Math.min(before - 1, 300)])
    }
  })

  it('are empty for a journal that does not exist yet', async () => {
    const audit = openAudit()
    expect(await audit.page(null, 10)).toEqual({ entries: [], next: null })
    await appendFile(join(folder, '..', 'x'), '')
  })
})
