import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../sidecars/testing/fast-check.ts'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ApprovalView, DecideIntent } from '../../preload/api.ts'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import type { ApprovalsRequest } from '../../sidecars/protocol/host-channel.ts'
import type { ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import type { AuditEvent } from '../audit/audit.ts'
import { Rules } from '../rules/rules.ts'
import { loadShellGrammar, type ShellGrammar } from '../../sidecars/rules/shell-grammar.ts'
import { Approvals, hashSubject, type Answer } from './approvals.ts'

const A = 'ses_a' as SessionId
const B = 'ses_b' as SessionId
const window: Actor = { kind: 'person', via: 'window' }
const cli: Actor = { kind: 'person', via: 'command-line' }

let grammar: ShellGrammar
let rules: Rules
let approvals: Approvals
let rows: Map<string, ApprovalView>
let journal: AuditEvent[]
let canRecord: boolean
let now: number
beforeAll(async () => {
  grammar = await loadShellGrammar()
})
beforeEach(async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'gatehouse-approvals-')), 'rules')
  rules = new Rules({ folder, context: { grammar, isFileOf: () => false, isTrustedSearchPath: () => false } })
  await rules.start()
  rows = new Map()
  journal = []
  canRecord = true
  now = 1_000
  approvals = newApprovals()
})
afterEach(async () => {
  vi.useRealTimers()
  approvals.dispose('test over')
  await rules.stop()
})

function newApprovals(): Approvals {
  return new Approvals({
    rules,
    audit: { record: (event) => void journal.push(event), canRecord: () => canRecord },
    rulesFolder: '/data/rules',
    sessionOf: (id) =>
      id === 'unknown'
        ? undefined
        : { agentName: 'agent', title: `title of ${id}`, via: id === B ? 'command-line' : 'mcp-stdio' },
    publish: (id, view) => void (view ? rows.set(id, view) : rows.delete(id)),
    onPendingChanged: () => {},
    now: () => now,
  })
}

const command = (...argv: string[]): Subject => ({
  kind: 'command',
  argv,
  cwd: '/w',
  envChanges: {},
  tty: false,
  stdin: 'none',
  sandbox: 'none',
})
const connection = (host: string, more: object = {}): Subject => ({
  kind: 'connection',
  host,
  port: 443,
  protocol: 'https',
  ...more,
})

interface Asked {
  answer: Promise<Answer>
  /** Undefined while it waits; the verdict or the error's message once it is answered. */
  outcome?: string
  answers: number
  cancel(): void
}
function ask(
  subject: Subject,
  more: Partial<ApprovalsRequest> & { session?: SessionId; generation?: number; process?: string } = {},
): Asked {
  const controller = new AbortController()
  const { session = A, generation = 1, process, ...params } = more
  const answer = approvals.ask(
    {
      subject,
      origin: { sessionId: session, ...(process ? { processId: process as ProcessId } : {}) },
      gate: 'ask',
      scopes: ['once', 'session', 'always'],
      expiresInMs: 0,
      ...params,
    },
    {
      asker: { sidecar: 'exec-server', generation },
      signal: controller.signal,
      whyGone: () => 'the agent cancelled it',
    },
  )
  const asked: Asked = { answer, answers: 0, cancel: () => controller.abort() }
  answer.then(
    ({ decision }) => {
      asked.answers++
      asked.outcome = `${decision.verdict} by ${decision.actor.kind}`
    },
    (error: Error) => {
      asked.answers++
      asked.outcome = error.message
    },
  )
  return asked
}
const pending = () => [...rows.values()].filter((row) => row.state === 'pending')
const intent = (view: ApprovalView, more: Partial<DecideIntent> = {}): DecideIntent => ({
  requestId: view.id,
  subjectHash: view.subjectHash,
  verdict: 'allow',
  scope: 'once',
  ...more,
})
const kinds = () => journal.map((event) => event.kind)
/** Answers are given in microtasks. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a question nobody has a rule for', () => {
  it('waits as a card with exactly what would happen and why it is asked', async () => {
    ask(command('make', 'x'), { process: 'prc_1' })
    expect(pending()).toEqual([
      {
        id: expect.stringMatching(/^req_[0-9a-f]{16}$/),
        sessionId: A,
        processId: 'prc_1',
        agentName: 'agent',
        sessionTitle: `title of ${A}`,
        subject: command('make', 'x'),
        subjectHash: hashSubject(command('make', 'x')),
        scopes: ['once', 'session', 'always'],
        why: { summary: 'no rule matches', nearly: null },
        reason: null,
        refused: null,
        state: 'pending',
        decision: null,
        endedBecause: null,
        askedAtMs: 1_000,
        expiresAtMs: null,
        waiting: 1,
      },
    ])
    expect(approvals.pendingCount(A)).toBe(1)
    expect(kinds()).toEqual(['request.asked'])
  })

  it('is answered once, with who decided, and words go to the agent', async () => {
    const asked = ask(command('make', 'x'))
    const [card] = pending()
    now = 2_000
    expect(approvals.decide(intent(card!, { verdict: 'deny', reason: 'not now' }), window)).toEqual({ ok: true })
    const { decision, requestId } = await asked.answer
    expect(decision).toEqual({
      verdict: 'deny',
      scope: 'once',
      actor: window,
      reason: 'not now',
      subjectHash: card!.subjectHash,
      decidedAtMs: 2_000,
    })
    expect(requestId).toBe(card!.id)
    expect(rows.get(card!.id)).toMatchObject({ state: 'decided', decision, waiting: 0 })
    expect(kinds()).toEqual(['request.asked', 'request.decided'])
  })

  it('E77 tells the second answerer who was first', async () => {
    const asked = ask(command('touch', 'RAN'))
    const [card] = pending()
    approvals.decide(intent(card!), cli)
    const second = approvals.decide(intent(card!, { verdict: 'deny' }), window)
    expect(second).toEqual({
      ok: false,
      message: expect.stringMatching(/^It was already allowed once by you on the command line at \d\d:\d\d:\d\d\.$/),
      already: (await asked.answer).decision,
    })
    expect(asked.answers).toBe(1)
  })

  it('is not answered by an answer to something else', async () => {
    const asked = ask(command('make', 'x'))
    const [card] = pending()
    for (const wrong of [{ subjectHash: hashSubject(command('make', 'y')) }, { requestId: 'req_other' }])
      expect(approvals.decide(intent(card!, wrong), window).ok).toBe(false)
    await settled()
    expect(asked.outcome).toBeUndefined()
  })

  it('E77 is refused after its session ended, although it is then allowed', async () => {
    const asked = ask(command('touch', 'RAN2'))
    const [card] = pending()
    approvals.withdrawSession(A, 'the agent left')
    expect(approvals.decide(intent(card!), window)).toEqual({
      ok: false,
      message: 'It does not wait any more: the agent left.',
    })
    await settled()
    expect(asked.outcome).toBe('Withdrawn: the agent left')
    expect(rows.get(card!.id)).toMatchObject({ state: 'withdrawn', endedBecause: 'the agent left', decision: null })
  })

  it('is withdrawn when the asker cancels, its process ends or its sidecar dies', async () => {
    const cancelled = ask(command('a'))
    const ofProcess = ask(command('b'), { process: 'prc_b' })
    const ofGeneration = ask(command('c'), { generation: 1 })
    const ofNext = ask(command('d'), { generation: 2 })
    cancelled.cancel()
    approvals.withdrawProcess('prc_b' as ProcessId, 'its process ended')
    approvals.withdrawGeneration('exec-server', 1, 'the exec server stopped')
    approvals.withdrawGeneration('mcp-server', 9, 'the MCP server stopped')
    await settled()
    expect([cancelled, ofProcess, ofGeneration, ofNext].map((asked) => asked.outcome)).toEqual([
      'Withdrawn: the agent cancelled it',
      'Withdrawn: its process ended',
      'Withdrawn: the exec server stopped',
      undefined,
    ])
  })

  it('E77 is denied when nobody answers in time, and that is said', async () => {
    vi.useFakeTimers()
    const asked = ask(command('make', 'x'), { expiresInMs: 120_000 })
    const [card] = pending()
    expect(card!.expiresAtMs).toBe(121_000)
    await vi.advanceTimersByTimeAsync(120_000)
    expect((await asked.answer).decision).toMatchObject({
      verdict: 'deny',
      actor: { kind: 'policy' },
      reason: 'Nobody answered within 120 s.',
    })
    expect(rows.get(card!.id)).toMatchObject({ state: 'expired', endedBecause: 'Nobody answered within 120 s.' })
    expect(approvals.decide(intent(card!), window)).toMatchObject({
      ok: false,
      message: 'It was denied: Nobody answered within 120 s.',
    })
    expect(kinds()).toEqual(['request.asked', 'request.expired'])
  })

  it('is not even asked when the asker is gone already', async () => {
    const controller = new AbortController()
    controller.abort()
    const answer = approvals.ask(
      { subject: command('a'), origin: { sessionId: A }, gate: 'observe', scopes: [], expiresInMs: 0 },
      { asker: { sidecar: 'exec-server', generation: 1 }, signal: controller.signal, whyGone: () => 'gone' },
    )
    await expect(answer).rejects.toMatchObject({ code: 'cancelled' })
    expect(journal).toEqual([])
  })

  it('keeps the rows of the newest 200 that ended', async () => {
    for (let i = 0; i < 250; i++) {
      ask(command('a', String(i)))
      approvals.withdrawSession(A, 'over')
    }
    await settled()
    expect(rows.size).toBe(200)
  })
})

describe('a question that wants words', () => {
  const form: Subject = {
    kind: 'elicitation',
    serverName: 's',
    message: 'm',
    schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  }

  it('is answered by nobody but the owner, in the shape it asked for, and allows nothing else', async () => {
    const asked = ['observe', 'ask', 'enforce'].map((gate) => ask(form, { gate: gate as ApprovalsRequest['gate'] }))
    const cards = pending()
    expect(cards.map((card) => card.scopes)).toEqual([['once'], ['once'], ['once']])
    expect(approvals.decide(intent(cards[0]!), window)).toEqual({
      ok: false,
      message: 'It is not answered yet: name needs an answer.',
    })
    expect(approvals.decide(intent(cards[0]!, { content: { name: 'Ada', sudo: true } }), window)).toEqual({ ok: true })
    const { content, decision } = await asked[0]!.answer
    expect([content, decision.verdict, decision.actor]).toEqual([{ name: 'Ada' }, 'allow', window])
    // What was filled in is passed on and kept nowhere.
    expect(JSON.stringify([journal, [...rows.values()]])).not.toContain('Ada')
    expect([rules.sessionGrants(), ask(form).outcome]).toEqual([[], undefined])
  })

  it('can be declined with words; words for anything else are refused', async () => {
    const asked = ask(form)
    const make = ask(command('make'))
    const [card, other] = pending()
    expect(approvals.decide(intent(other!, { content: { a: 1 } }), window)).toMatchObject({ ok: false })
    approvals.decide(intent(card!, { verdict: 'deny', reason: 'no' }), window)
    expect((await asked.answer).decision).toMatchObject({ verdict: 'deny', reason: 'no' })
    expect(make.outcome).toBeUndefined()
  })
})

describe('gates', () => {
  const verdicts = async (session: SessionId, gate: ApprovalsRequest['gate']) => {
    const asked = [command('ls'), command('sudo'), command('make')].map((subject) => ask(subject, { gate, session }))
    await settled()
    return asked.map(({ outcome }) => outcome)
  }
  beforeEach(() => {
    rules.addText('prefix_rule(["ls"])')
    rules.addText('prefix_rule(["sudo"], "forbidden", justification="no root")')
  })

  it('observe, ask and enforce differ only where no rule matches', async () => {
    expect(await verdicts(A, 'observe')).toEqual(['allow by rule', 'deny by rule', 'allow by policy'])
    expect(await verdicts(A, 'ask')).toEqual(['allow by rule', 'deny by rule', undefined])
    expect(await verdicts(A, 'enforce')).toEqual(['allow by rule', 'deny by rule', 'deny by policy'])
  })

  it("take a command that the owner typed for the owner's own decision, and honour deny rules", async () => {
    const typed = ask(command('make'), { gate: 'observe', session: B })
    expect((await typed.answer).decision).toMatchObject({ verdict: 'allow', actor: cli })
    const denied = ask(command('sudo', 'x'), { gate: 'observe', session: B })
    expect((await denied.answer).decision).toMatchObject({
      verdict: 'deny',
      actor: { kind: 'rule' },
      reason: 'Denied by a rule: sudo x: "deny" in memory: no root.',
    })
  })

  it('put rule decisions on record with their chain and count the rule', async () => {
    await ask(command('ls', '-l')).answer
    const decided = journal.find((event) => event.kind === 'request.decided')
    expect(decided).toMatchObject({ chain: ['ls -l: allowed, "allow" in memory'] })
    const [rule] = rules.all()
    expect(rules.firedOf(rule!.id)).toEqual({ count: 1, lastAtMs: 1_000 })
  })

  it('count a rule that wants a question for each question, and name it on record', async () => {
    rules.addText('prefix_rule(pattern=["git", "push"], decision="prompt")')
    const rule = rules.all().find(({ text }) => text.includes('push'))!
    const first = ask(command('git', 'push'))
    expect(journal.find((event) => event.kind === 'request.asked')).toMatchObject({ ruleId: rule.id })
    expect(rules.firedOf(rule.id)).toEqual({ count: 1, lastAtMs: 1_000 })
    ask(command('make'))
    expect(journal.filter((event) => event.kind === 'request.asked').map((event) => 'ruleId' in event)).toEqual([
      true,
      false,
    ])
    first.cancel()
    await expect(first.answer).rejects.toThrow('the agent cancelled it')
  })
})

describe('a journal that cannot record', () => {
  it('allows nothing, by rule or by person, and a waiting question waits on', async () => {
    rules.addText('prefix_rule(["ls"])')
    const waiting = ask(command('make'))
    canRecord = false
    const ruled = ask(command('ls'))
    const observed = ask(command('make', 'y'), { gate: 'observe' })
    await settled()
    expect([ruled.outcome, observed.outcome]).toEqual(['deny by policy', 'deny by policy'])
    expect(approvals.decide(intent(pending()[0]!), window)).toMatchObject({ ok: false })
    rules.addText('prefix_rule(["make"])')
    await settled()
    expect(waiting.outcome).toBeUndefined()
    expect(approvals.decide(intent(pending()[0]!, { verdict: 'deny' }), window)).toEqual({ ok: true })
  })
})

describe('wide answers', () => {
  it('for the session decide the same question again, in this session, also one that already waits', async () => {
    const first = ask(command('rm', 'x'))
    const same = ask(command('rm', 'x'))
    const elsewhere = ask(command('rm', 'x'), { session: B })
    const [card] = pending()
    expect(card!.scopes).toEqual(['once', 'session'])
    approvals.decide(intent(card!, { scope: 'session' }), window)
    await settled()
    expect([first, same, elsewhere].map((asked) => asked.outcome)).toEqual([
      'allow by person',
      'allow by rule',
      undefined,
    ])
    const [grant] = rules.sessionGrants()
    expect((await first.answer).decision.ruleId).toBe(grant!.id)
    expect((await same.answer).decision.ruleId).toBe(grant!.id)
    expect(kinds().filter((kind) => kind === 'rule.added')).toHaveLength(1)
  })

  it('for good decide every session, also what already waits, and are on record', async () => {
    const first = ask(command('npm', 'test'))
    const other = ask(command('npm', 'test', '--', 'a'), { session: B })
    const unrelated = ask(command('npm', 'publish'))
    approvals.decide(intent(pending()[0]!, { scope: 'always' }), window)
    await settled()
    expect([first, other, unrelated].map((asked) => asked.outcome)).toEqual([
      'allow by person',
      'allow by rule',
      undefined,
    ])
    expect(journal.find((event) => event.kind === 'rule.added')).toEqual({
      kind: 'rule.added',
      ruleId: rules.all()[0]!.id,
      text: 'prefix_rule(pattern=["npm", "test"], decision="allow")',
      source: 'default.rules',
      scope: 'always',
      sessionId: A,
      requestId: (await first.answer).requestId,
      actor: window,
    })
  })

  it('can deny for good', async () => {
    ask(command('npm', 'publish'))
    approvals.decide(intent(pending()[0]!, { scope: 'always', verdict: 'deny', reason: 'never' }), window)
    expect((await ask(command('npm', 'publish')).answer).decision).toMatchObject({
      verdict: 'deny',
      actor: { kind: 'rule' },
    })
  })

  it('for a host allow this host and port in this session', async () => {
    ask(connection('127.0.0.1', { port: 8080 }))
    approvals.decide(intent(pending()[0]!, { scope: 'session' }), window)
    expect(rules.forProxy().rules).toMatchObject([
      { pattern: '127.0.0.1', port: 8080, verdict: 'allow', scope: 'session', sessionId: A },
    ])
  })

  it('are refused where they were not offered', async () => {
    const asked = ask(command('sudo', 'x'))
    expect(pending()[0]!.scopes).toEqual(['once', 'session'])
    expect(approvals.decide(intent(pending()[0]!, { scope: 'always' }), window)).toEqual({
      ok: false,
      message: '"always" is not offered for this request.',
    })
    ask({ kind: 'elicitation', serverName: 's', message: 'm', schema: {} })
    expect(pending()[1]!.scopes).toEqual(['once'])
    await settled()
    expect(asked.outcome).toBeUndefined()
  })

  it('are offered for a session only where there is one', () => {
    ask(connection('a.test'), { session: 'unknown' as SessionId })
    expect(pending()).toMatchObject([
      { scopes: ['once', 'always'], agentName: 'A program that Gatehouse did not start' },
    ])
  })

  it('preview the rule and what it would have matched in the last 30 days', async () => {
    now = 40 * 86_400_000
    const past = (subject: Subject, verdict: 'allow' | 'deny', atMs: number) =>
      approvals.history.add({ subject, subjectHash: hashSubject(subject), sessionId: B, verdict, atMs })
    past(command('npm', 'test', 'old'), 'allow', 1)
    past(command('npm', 'test', 'a'), 'allow', now - 2)
    past(command('bash', '-c', 'ls && npm test b'), 'deny', now - 1)
    past(command('npm', 'publish'), 'deny', now - 1)
    ask(command('npm', 'test'))
    const [card] = pending()
    expect(approvals.preview(card!.id, 'always')).toEqual({
      text: 'prefix_rule(pattern=["npm", "test"], decision="allow")',
      words: 'Allow commands that start with npm test, with anything after it',
      storedIn: '/data/rules/default.rules',
      matched: { count: 2, denied: 1, examples: ["bash -c 'ls && npm test b'", 'npm test a'] },
    })
    expect(approvals.preview(card!.id, 'session')).toEqual({
      text: 'npm test',
      words: 'Allow exactly this again for this session',
      storedIn: 'memory, until the session ends',
      matched: { count: 0, denied: 0, examples: [] },
    })
    expect(() => approvals.preview('req_none', 'once')).toThrow('does not wait')
  })
})

describe('equal questions about one host', () => {
  it('wait on one card and each gets the answer bound to its own subject', async () => {
    const asked = [
      ask(connection('a.test', { address: '192.0.2.1' })),
      ask(connection('a.test', { address: '192.0.2.2' })),
      ask(connection('a.test')),
    ]
    const others = [
      ask(connection('a.test', { port: 80 })),
      ask(connection('a.test'), { session: B }),
      ask(connection('a.test', { method: 'POST' })),
    ]
    expect(pending().map((card) => card.waiting)).toEqual([3, 1, 1, 1])
    expect(kinds()).toHaveLength(4)
    approvals.decide(intent(pending()[0]!), window)
    const answers = await Promise.all(asked.map(({ answer }) => answer))
    expect(answers.map(({ decision }) => decision.subjectHash)).toEqual([
      hashSubject(connection('a.test', { address: '192.0.2.1' })),
      hashSubject(connection('a.test', { address: '192.0.2.2' })),
      hashSubject(connection('a.test')),
    ])
    await settled()
    expect(others.map(({ outcome }) => outcome)).toEqual([undefined, undefined, undefined])
  })

  it('keep the card until the last one left, and a later one gets a card of its own', async () => {
    const [first, second] = [ask(connection('a.test')), ask(connection('a.test'))]
    const [card] = pending()
    first.cancel()
    expect(rows.get(card!.id)).toMatchObject({ state: 'pending', waiting: 1 })
    second.cancel()
    expect(rows.get(card!.id)).toMatchObject({ state: 'withdrawn' })
    ask(connection('a.test'))
    expect(pending()).toHaveLength(1)
    expect(pending()[0]!.id).not.toBe(card!.id)
    await settled()
  })

  it('expire each at its own time', async () => {
    vi.useFakeTimers()
    const early = ask(connection('a.test'), { expiresInMs: 1_000 })
    const late = ask(connection('a.test'), { expiresInMs: 5_000 })
    expect(pending()[0]!.expiresAtMs).toBe(6_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect([early.outcome, late.outcome]).toEqual(['deny by policy', undefined])
    approvals.decide(intent(pending()[0]!), window)
    await vi.advanceTimersByTimeAsync(10_000)
    expect([early.answers, late.answers, late.outcome]).toEqual([1, 1, 'allow by person'])
  })
})

it('never says yes without a decision or a rule, and never answers twice, in any order of events', async () => {
  const subject = fc.constantFrom(
    command('make', 'a'),
    command('make', 'b'),
    connection('a.test'),
    connection('b.test'),
  )
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        subject,
        session: fc.constantFrom(A, B),
        generation: fc.integer({ min: 1, max: 3 }),
        expiresInMs: fc.constantFrom(0, 50),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('decide' as const),
        at: fc.nat(8),
        verdict: fc.constantFrom('allow' as const, 'deny' as const),
        scope: fc.constantFrom('once' as const, 'session' as const),
        wrongHash: fc.boolean(),
      }),
    },
    fc.record({ do: fc.constant('cancel' as const), at: fc.nat(8) }),
    fc.record({ do: fc.constant('lose' as const), generation: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ do: fc.constant('leave' as const), session: fc.constantFrom(A, B) }),
    fc.record({ do: fc.constant('pass' as const) }),
  )
  vi.useFakeTimers()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      rows.clear()
      const asked: Asked[] = []
      const saidYes = new Set<string>()
      let grantsYes = false
      for (const current of steps) {
        if (current.do === 'ask') asked.push(ask(current.subject, current))
        else if (current.do === 'decide') {
          const row = [...rows.values()][current.at]
          if (!row) continue
          const hash = current.wrongHash ? { subjectHash: 'wrong' } : {}
          const { ok } = approvals.decide(
            intent(row, { verdict: current.verdict, scope: current.scope, ...hash }),
            window,
          )
          expect(ok && current.wrongHash).toBe(false)
          if (ok && current.verdict === 'allow') {
            saidYes.add(row.id)
            grantsYes ||= current.scope === 'session'
          }
        } else if (current.do === 'cancel') asked[current.at]?.cancel()
        else if (current.do === 'lose') approvals.withdrawGeneration('exec-server', current.generation, 'lost')
        else if (current.do === 'leave') {
          approvals.withdrawSession(current.session, 'left')
          rules.endSession(current.session)
        } else await vi.advanceTimersByTimeAsync(60)
      }
      approvals.withdrawSession(A, 'over')
      approvals.withdrawSession(B, 'over')
      for (const session of [A, B]) rules.endSession(session)
      await vi.advanceTimersByTimeAsync(1_000)
      for (const { answer, answers, outcome } of asked) {
        expect(answers).toBe(1)
        if (outcome === 'allow by person') expect(saidYes.has((await answer).requestId)).toBe(true)
        else if (outcome === 'allow by rule') expect(grantsYes).toBe(true)
        else expect(outcome).toMatch(/^(deny by (person|rule|policy)|Withdrawn: )/)
      }
      for (const row of rows.values()) expect(row.state).not.toBe('pending')
    }),
    { numRuns: 300 },
  )
})
