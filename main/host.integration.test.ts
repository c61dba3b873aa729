import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ApprovalView, ConnectionView, FeedSnapshot } from '../preload/api.ts'
import type { Actor } from '../sidecars/protocol/decision.ts'
import { ExecClient, websocketConnector } from '../sidecars/exec-server/client/index.ts'
import { sandboxOf, WORKSPACE_WRITE } from '../sidecars/testing/confined-commands.ts'
import type { RunEnd, RunRequest } from './control/controlled-host.ts'
import type { Host } from './host.ts'
import { builtHost } from './testing/built-host.ts'

const owner: Actor = { kind: 'person', via: 'window' }
const until = <T>(look: () => T) => vi.waitUntil(look, { timeout: 20_000, interval: 10 })

/** The real sidecars of out/ under a host of this process. */
describe('a host with its real sidecars', () => {
  let dataDir: string
  let host: Host
  let origin: Server
  let port: number
  let agent: ExecClient

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gh-host-'))
    await mkdir(join(dataDir, 'run'), { mode: 0o700 })
    await mkdir(join(dataDir, 'rules'))
    await writeFile(join(dataDir, 'settings.json'), '{"agentGate":"ask"}')
    await writeFile(
      join(dataDir, 'rules', 'default.rules'),
      'prefix_rule(["echo"])\nprefix_rule(["sudo"], "forbidden", justification="no root")\n',
    )
    host = await builtHost(dataDir, { backoffFirstMs: 100 })
    await host.start()
    origin = createServer((_request, response) => response.end('from the origin'))
    await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
    port = (origin.address() as AddressInfo).port
    const { ws } = tables().sidecars['exec-server']!.endpoints
    agent = new ExecClient({
      clientName: 'test agent',
      connect: websocketConnector({ url: ws!, token: host.agentToken }),
      recoveryMs: 2_000,
    })
  })
  afterAll(async () => {
    await agent?.close()
    await host?.stop(5_000)
    origin?.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const tables = (): FeedSnapshot['tables'] => host.feed.snapshot().tables
  const pending = (): ApprovalView[] => Object.values(tables().approvals).filter(({ state }) => state === 'pending')
  const decide = (card: ApprovalView, more: object = {}) =>
    host.invoke(
      'approvals.decide',
      [{ requestId: card.id, subjectHash: card.subjectHash, verdict: 'allow', scope: 'once', ...more }],
      owner,
    )
  async function run(argv: string[], more: Partial<RunRequest> = {}) {
    let output = ''
    const request: RunRequest = {
      argv,
      cwd: dataDir,
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
      tty: null,
      signal: new AbortController().signal,
      ...more,
    }
    const handle = await host.startRun(request, {
      output: async (_stream, bytes) => void (output += Buffer.from(bytes).toString()),
    })
    const closed: Promise<RunEnd & { output: string }> = handle.closed.then((end) => ({ ...end, output }))
    return { handle, closed }
  }

  it('runs a command of the owner as a session of its own and tells how it ended', async () => {
    const { handle, closed } = await run(['sh', '-c', 'cat; echo out; exit 7'])
    await handle.write(Buffer.from('typed '))
    await handle.endInput()
    expect(await closed).toEqual({ exitCode: 7, exitSignal: null, output: 'typed out\n' })
    expect(tables().processes[handle.processId]).toMatchObject({ state: 'closed', exitCode: 7 })
    expect(tables().sessions[handle.sessionId!]).toMatchObject({
      agentName: 'You',
      via: 'command-line',
      posture: 'ended',
      title: "sh -c 'cat; echo out; exit 7'",
    })
  })

  it('names the signal that ended a run, and gives a terminal its size', async () => {
    const killed = await run(['sh', '-c', 'kill -TERM $$'])
    expect(await killed.closed).toMatchObject({ exitSignal: 'SIGTERM' })
    const sized = await run(['sh', '-c', 'sleep 0.3; stty size'], { tty: { columns: 91, rows: 33 } })
    expect((await sized.closed).output).toContain('33 91')
  })

  it('refuses a run that a rule denies, with the reason, and starts nothing', async () => {
    await expect(run(['sudo', 'touch', join(dataDir, 'RAN')])).rejects.toMatchObject({
      code: 'denied',
      message: 'Denied by a rule: sudo touch RAN: "deny" in default.rules:2: no root.'.replace(
        'RAN',
        join(dataDir, 'RAN'),
      ),
    })
    await expect(run(['/nonexistent/program'])).rejects.toThrow(/no such|not found|ENOENT/i)
  })

  it("E77 asks about an agent's command, runs it once it is allowed, and withdraws the card when the agent leaves", async () => {
    const start = {
      argv: ['sh', '-c', `printf done > ${join(dataDir, 'canary')}`],
      cwd: dataDir,
      env: { PATH: '/usr/bin:/bin' },
    }
    const starting = agent.start(start)
    await until(() => pending().length === 1)
    const [card] = pending()
    expect(card).toMatchObject({
      agentName: 'test agent',
      subject: { kind: 'command', argv: start.argv, cwd: dataDir },
    })
    expect(existsSync(join(dataDir, 'canary'))).toBe(false)
    expect(await decide(card!)).toEqual({ ok: true })
    await (
      await starting
    ).closed
    expect(existsSync(join(dataDir, 'canary'))).toBe(true)

    const echo = await agent.start({ ...start, argv: ['echo', 'by rule'] })
    await echo.closed
    expect(pending()).toEqual([])

    const denied = agent.start({ ...start, argv: ['touch', join(dataDir, 'RAN')] })
    denied.catch(() => {})
    await until(() => pending().length === 1)
    await decide(pending()[0]!, { verdict: 'deny', reason: 'not this one' })
    await expect(denied).rejects.toThrow('not this one')

    const abandoned = new AbortController()
    const leaving = agent.start({ ...start, argv: ['touch', join(dataDir, 'RAN')] }, { signal: abandoned.signal })
    leaving.catch(() => {})
    await until(() => pending().length === 1)
    const [left] = pending()
    abandoned.abort(new Error('left'))
    await until(() => tables().approvals[left!.id]!.state === 'withdrawn')
    expect(await decide(left!)).toMatchObject({ ok: false })
    expect(existsSync(join(dataDir, 'RAN'))).toBe(false)
  })

  it('survives kill -9 of each sidecar: it comes back, what waited is withdrawn, the next command works', async () => {
    for (const name of ['exec-server', 'network-proxy', 'mcp-server'] as const) {
      const { pid, generation, endpoints } = tables().sidecars[name]!
      const client = new ExecClient({
        clientName: 'waiting agent',
        connect: websocketConnector({ url: tables().sidecars['exec-server']!.endpoints.ws!, token: host.agentToken }),
        recoveryMs: 500,
      })
      const starting = client.start({ argv: ['touch', join(dataDir, 'RAN')], cwd: dataDir, env: {} })
      starting.catch(() => {})
      await until(() => pending().length === 1)
      const [card] = pending()
      process.kill(pid!, 'SIGKILL')
      await until(() => tables().sidecars[name]!.state === 'ready' && tables().sidecars[name]!.generation > generation)
      if (name === 'exec-server')
        expect(tables().approvals[card!.id]).toMatchObject({
          state: 'withdrawn',
          endedBecause: 'the exec server stopped',
        })
      else await decide(card!, { verdict: 'deny' })
      await client.close()
      // Whoever knew the old address comes back to it.
      expect(tables().sidecars[name]!.endpoints).toEqual(endpoints)
      const { closed } = await run(['echo', 'works'])
      expect(await closed).toMatchObject({ exitCode: 0, output: 'works\n' })
    }
    expect(existsSync(join(dataDir, 'RAN'))).toBe(false)
  })

  it('a command that outlives a proxy goes through the next one', async () => {
    const text = `network_rule("127.0.0.1", port=${port}, decision="allow")`
    const { ruleId } = await host.invoke('rules.add', [text], owner)
    const { handle, closed } = await run(['sh', '-c', `read x; curl -s http://127.0.0.1:${port}/`])
    const { pid, generation } = tables().sidecars['network-proxy']!
    process.kill(pid!, 'SIGKILL')
    await until(
      () => tables().sidecars['network-proxy']!.generation > generation && tables().rules[ruleId]!.flag === null,
    )
    await handle.write(Buffer.from('\n'))
    expect((await closed).output).toBe('from the origin')
    await until(() =>
      Object.values(tables().connections).some(
        ({ processId, state }) => processId === handle.processId && state !== 'blocked',
      ),
    )
    await host.invoke('rules.remove', [ruleId], owner)
  })

  it('a sandboxed command reaches an allowed host by its lease through the proxy, and nothing else at all', async () => {
    const { ruleId } = await host.invoke(
      'rules.add',
      [`network_rule("127.0.0.1", port=${port}, decision="allow")`],
      owner,
    )
    const workspace = await mkdtemp(join(tmpdir(), 'gh-walled-'))
    const other = createServer((_request, response) => response.end('from the other'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const otherPort = (other.address() as AddressInfo).port
    const raw = (to: string) => `timeout 5 bash -c 'cat < /dev/tcp/${to}' 2>&1 | tail -1`
    const lines = [
      `curl -s http://127.0.0.1:${port}/; echo`,
      `curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:${otherPort}/`,
      `env -u http_proxy -u HTTP_PROXY curl -s --noproxy '*' http://127.0.0.1:${port}/ || echo no way`,
      raw(`127.0.0.1/${port}`),
      raw('198.51.100.1/80'),
      `python3 -c 'import socket;socket.socket(socket.AF_INET,socket.SOCK_RAW,1)' 2>&1 | tail -1`,
      `python3 -c 'import socket;socket.socket(socket.AF_UNIX)' 2>&1 | tail -1`,
    ]
    const starting = agent.start({
      argv: ['bash', '-c', lines.join('\n')],
      cwd: workspace,
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
      sandbox: sandboxOf({ root: workspace, entries: WORKSPACE_WRITE, network: 'enabled' }),
    })
    await until(() => pending().length === 1)
    expect(pending()[0]?.subject).toMatchObject({ sandbox: 'workspace-write' })
    await decide(pending()[0]!)
    const walled = await starting
    let output = ''
    for await (const piece of walled.output) if (piece.kind === 'output') output += Buffer.from(piece.bytes).toString()
    const said = output.trim().split('\n')
    expect(said.slice(0, 3)).toEqual(['from the origin', '403', 'no way'])
    expect(said[3]).toMatch(/Connection refused$/)
    expect(said[4]).toMatch(/Network is unreachable$/)
    for (const line of said.slice(5)) expect(line).toMatch(/PermissionError: .*not permitted$/)
    const rows = await until(() => {
      const found = Object.values(tables().connections).filter(({ command }) => command?.includes(String(otherPort)))
      return found.length === 2 && found
    })
    expect(Object.fromEntries(rows.map(({ port: to, state }) => [to, state === 'blocked']))).toEqual({
      [port]: false,
      [otherPort]: true,
    })
    other.close()
    await host.invoke('rules.remove', [ruleId], owner)
    await rm(workspace, { recursive: true, force: true })
  })

  it('shows a blocked host with its process, and one act for the session lets the same session through', async () => {
    const url = `http://127.0.0.1:${port}/`
    const { handle, closed } = await run([
      'sh',
      '-c',
      `curl -s ${url}; read x; curl -s ${url}; curl -s -o /dev/null -w ' %{http_code}' http://127.0.0.1:1/`,
    ])
    const blocked = await until(() =>
      Object.values(tables().connections).find(
        (row): row is ConnectionView => row.port === port && row.state === 'blocked',
      ),
    )
    expect(blocked).toMatchObject({
      host: '127.0.0.1',
      reason: 'not_allowed_local',
      processId: handle.processId,
      sessionId: handle.sessionId,
      command: expect.stringContaining('curl') as string,
      pid: tables().processes[handle.processId]!.pid,
    })
    expect(tables().sessions[handle.sessionId!]).toMatchObject({ blockedCount: 1 })
    const { ruleId } = await host.invoke(
      'egress.decide',
      [{ connectionId: blocked!.id, verdict: 'allow', scope: 'session', breadth: 'host-port' }],
      owner,
    )
    expect(tables().rules[ruleId]).toMatchObject({ scope: 'session', flag: null })
    await handle.write(Buffer.from('\n'))
    const { output } = await closed
    expect(output).toContain('from the origin')
    expect(output).toMatch(/ 403$/)
    expect(tables().rules[ruleId]).toBeUndefined()
  })
})
