import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attachAgent, type AttachedAgent } from '../../testing/attached-agent.ts'
import { isAlive } from '../../testing/is-alive.ts'
import { HeldGate } from '../../testing/local-exec.ts'
import { ERAS, factsOf, textOf } from '../../testing/mcp-line-client.ts'

describe.each(ERAS)('in the %s era', (era) => {
  let agent: AttachedAgent
  beforeEach(async () => {
    agent = await attachAgent(era)
  })
  afterEach(() => agent.dispose())

  test('a command answers with its output and exit code as text and as structure', async () => {
    const result = await agent.call('run_command', { shell: 'echo out; echo err >&2; exit 3' })
    expect(result.isError).not.toBe(true)
    expect(textOf(result)).toMatch(/^exit code 3 after \d+\.\d s\n(out\nerr|err\nout)$/)
    expect(factsOf(result)).toMatchObject({ processId: 'p1', status: 'exited', exitCode: 3, outputBytes: 8 })
    expect(factsOf(result)).not.toHaveProperty('message')
  })

  test('what is put to the gate is exactly what was asked for, in the name of the session', async () => {
    await agent.call('run_command', { argv: ['env'], cwd: '/', env: { A: '1' }, stdin: true })
    expect(agent.exec.asked).toEqual([
      {
        argv: ['env'],
        cwd: '/',
        env: { A: '1' },
        tty: false,
        pipeStdin: true,
        processId: `${agent.host.sessions[0]?.id}.p1`,
        sessionId: agent.host.sessions[0]?.id,
        toolCallId: expect.any(String),
      },
    ])
  })

  test('E09 a long output keeps its first bytes, its last line, the count of what is left out and the exit code', async () => {
    const script =
      'for i in 0 1 2; do head -c 400000 /dev/zero | tr "\\0" $i; echo; done; echo "error: link failed"; exit 3'
    const result = await agent.call('run_command', { shell: script })
    const facts = factsOf(result)
    const text = textOf(result)
    expect(text).toMatch(/^exit code 3/)
    expect(text).toMatch(/error: link failed$/)
    expect(text).toContain('0000000000')
    const shown = 24 * 1024
    expect(facts).toMatchObject({ exitCode: 3, outputBytes: 1_200_022, omittedBytes: 1_200_022 - shown })
    expect(text).toContain(`${(1_200_022 - shown).toLocaleString('en-US')} bytes left out`)
    expect(Buffer.byteLength(text)).toBeLessThan(shown + 1000)
  })

  test('every byte of a shortened output can be read, by cursor, exactly', async () => {
    const run = await agent.call('run_command', {
      shell: 'f=$(mktemp); head -c 300000 /dev/urandom > $f; cat $f; sha256sum < $f; rm $f',
    })
    const parts: Buffer[] = []
    let cursor: unknown
    for (;;) {
      const page = factsOf(
        await agent.call('read_output', {
          processId: factsOf(run).processId,
          encoding: 'base64',
          maxBytes: 70_000,
          ...(cursor === undefined ? {} : { cursor }),
        }),
      )
      for (const { base64 } of page.chunks as { base64: string }[]) parts.push(Buffer.from(base64, 'base64'))
      cursor = page.nextCursor
      if (page.atEnd) break
    }
    const all = Buffer.concat(parts)
    const hash = createHash('sha256').update(all.subarray(0, 300_000)).digest('hex')
    expect(all.subarray(300_000).toString()).toBe(`${hash}  -\n`)
  })

  test('the cursor in the gap line reads on exactly where the shown beginning ends', async () => {
    const run = factsOf(await agent.call('run_command', { shell: 'seq 1 20000' }))
    const page = factsOf(await agent.call('read_output', { processId: 'p1', cursor: run.omittedFrom, maxBytes: 200 }))
    const whole = Array.from({ length: 20000 }, (_, at) => `${at + 1}\n`).join('')
    const head = (run.output as string).split('\n[...')[0] ?? ''
    expect(whole.startsWith(head + (page.output as string))).toBe(true)
  })

  test('a denied command answers with the words of the owner, as an error, and nothing ran', async () => {
    const gate = new HeldGate()
    agent.exec.gate = gate.ask
    const call = agent.call('run_command', { shell: 'echo hi' })
    await expect.poll(() => gate.pending).toBe(1)
    gate.deny('use the staging database instead')
    const result = await call
    expect(result.isError).toBe(true)
    expect(textOf(result)).toBe('Denied in Gatehouse: use the staging database instead\nNothing was run.')
    expect(agent.exec.processes).toEqual([])
  })

  test('M17 cancelling ends the command, no result comes, and the next one runs at once', async () => {
    const controller = new AbortController()
    const call = agent.client.callTool(
      { name: 'run_command', arguments: { shell: 'sleep 300' } },
      { signal: controller.signal },
    )
    await expect.poll(() => agent.exec.processes.length).toBe(1)
    controller.abort(new Error('user pressed escape'))
    await expect(call).rejects.toThrow()
    expect(textOf(await agent.call('run_command', { shell: 'echo ok' }))).toContain('ok')
    await expect.poll(() => isAlive(agent.exec.processes[0]?.pid ?? 0)).toBe(false)
    const { processes } = factsOf(await agent.call('list_processes')) as { processes: { status: string }[] }
    expect(processes.map(({ status }) => status)).toEqual(['stopped', 'exited'])
  })

  test('A4 cancelling while the owner is asked withdraws the question', async () => {
    const gate = new HeldGate()
    agent.exec.gate = gate.ask
    const controller = new AbortController()
    const call = agent.client.callTool(
      { name: 'run_command', arguments: { shell: 'sleep 300' } },
      { signal: controller.signal },
    )
    await expect.poll(() => gate.pending).toBe(1)
    controller.abort(new Error('changed my mind'))
    await expect(call).rejects.toThrow()
    await expect.poll(() => gate.withdrawn.length).toBe(1)
  })

  test('A2 a client that leaves ends what it was running, and its session', async () => {
    void agent.call('run_command', { shell: 'sleep 300' }).catch(() => {})
    await agent.call('run_command', { shell: 'sleep 300', background: true })
    await expect.poll(() => agent.exec.processes.length).toBe(2)
    await agent.client.close()
    await agent.served.ended
    for (const { pid } of agent.exec.processes) await expect.poll(() => isAlive(pid)).toBe(false)
    expect(agent.host.ended).toEqual([{ id: agent.host.sessions[0]?.id, reason: 'the client left' }])
  })

  test('a process told to stay outlives its session, another in the background does not', async () => {
    await agent.call('run_command', { shell: 'sleep 300', background: true, keepAfterSession: true })
    await agent.call('run_command', { shell: 'sleep 300', background: true })
    await agent.client.close()
    await agent.served.ended
    const [kept, ended] = agent.exec.processes
    await expect.poll(() => isAlive(ended?.pid ?? 0)).toBe(false)
    expect(isAlive(kept?.pid ?? 0)).toBe(true)
  })

  test('E25 a time limit ends the group and the answer says so', async () => {
    const result = await agent.call('run_command', { shell: 'echo before; sleep 300', timeoutMs: 1_500 })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/^Timed out: the limit of 1500 ms passed .*\nbefore$/)
    expect(factsOf(result)).toMatchObject({ status: 'timed_out', output: 'before\n' })
  })

  test('E28 a command that reads standard input without asking for it sees its end', async () => {
    expect(factsOf(await agent.call('run_command', { shell: 'cat; wc -c' }))).toMatchObject({
      status: 'exited',
      exitCode: 0,
    })
  })

  test('A10 a long call gives back a handle, and get_result goes on to the end', async () => {
    const gate = new HeldGate()
    agent.exec.gate = gate.ask
    const first = await agent.call('run_command', { shell: 'sleep 0.2; echo done', yieldMs: 20 })
    expect(first.isError).not.toBe(true)
    expect(factsOf(first)).toMatchObject({ status: 'awaiting_approval', processId: 'p1' })
    expect(textOf(first)).toContain('get_result {"processId":"p1"}')
    // Codex and Claude Code show their model only the structure.
    expect(factsOf(first).message).toContain('get_result {"processId":"p1"}')
    gate.allow()
    const second = await agent.call('get_result', { processId: 'p1' })
    expect(factsOf(second)).toMatchObject({ status: 'exited', exitCode: 0, output: 'done\n' })
    expect(agent.exec.asked).toHaveLength(1)
  })

  test('progress is told while waiting and running, strictly rising, and never after the result', async () => {
    const gate = new HeldGate()
    agent.exec.gate = gate.ask
    const seen: { progress: number; message?: string }[] = []
    const call = agent.client.callTool(
      { name: 'run_command', arguments: { shell: 'sleep 0.1; echo x' } },
      { onprogress: (progress) => seen.push(progress) },
    )
    await expect.poll(() => seen.map(({ message }) => message)).toEqual(['waiting for approval in Gatehouse'])
    gate.allow()
    await call
    expect(seen.map(({ message }) => message)).toEqual(['waiting for approval in Gatehouse', 'running'])
    expect(seen.map(({ progress }) => progress)).toEqual([1, 2])
  })

  test('a refused command was never told to be running', async () => {
    const gate = new HeldGate()
    agent.exec.gate = gate.ask
    const seen: (string | undefined)[] = []
    const call = agent.client.callTool(
      { name: 'run_command', arguments: { shell: 'echo x' } },
      { onprogress: ({ message }) => seen.push(message) },
    )
    await expect.poll(() => seen).toEqual(['waiting for approval in Gatehouse'])
    gate.deny('no')
    await call
    expect(seen).toEqual(['waiting for approval in Gatehouse'])
  })

  test('when the exec server is down the answer says so, and the next command works once it is back', async () => {
    agent.exec.downBecause = 'the exec server is being restarted'
    const result = await agent.call('run_command', { shell: 'echo x' })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('the exec server is being restarted')
    agent.exec.downBecause = null
    expect(factsOf(await agent.call('run_command', { shell: 'echo x' }))).toMatchObject({ output: 'x\n' })
  })

  test('bad arguments are a readable error that names the argument, not a protocol error', async () => {
    const results = await Promise.all([
      agent.call('run_command', { shell: 'ls', cwd: 'src' }),
      agent.call('run_command', { shell: 'ls', timeout: 5 }),
      agent.call('run_command', { argv: 'ls' }),
      agent.call('read_output', { processId: 'p9' }),
    ])
    expect(results.map((result) => result.isError)).toEqual([true, true, true, true])
    expect(results.map(textOf)).toEqual([
      expect.stringContaining('cwd: expected an absolute path'),
      expect.stringContaining('timeout'),
      expect.stringContaining('argv'),
      expect.stringContaining('processId: no process "p9"'),
    ])
    expect(agent.exec.asked).toEqual([])
  })

  test('A15 many calls at once are all answered, each with its own output', async () => {
    const calls = Array.from({ length: 40 }, (_, at) => agent.call('run_command', { argv: ['echo', `n${at}`] }))
    expect((await Promise.all(calls)).map((result) => factsOf(result).output)).toEqual(
      Array.from({ length: 40 }, (_, at) => `n${at}\n`),
    )
  })
})

test('an agent cannot approve itself by answering a question nobody asked', async () => {
  const agent = await attachAgent('modern')
  const gate = new HeldGate()
  agent.exec.gate = gate.ask
  const call = agent.client.request({
    method: 'tools/call',
    params: {
      name: 'run_command',
      arguments: { shell: 'echo owned', yieldMs: 200 },
      inputResponses: {
        approval: { action: 'accept', content: { decision: 'approved', ok: true } },
        confirm: { action: 'accept', content: {} },
      },
      requestState: 'eyJhcHByb3ZlZCI6dHJ1ZX0',
    },
  })
  expect(factsOf(await call)).toMatchObject({ status: 'awaiting_approval', output: '' })
  expect(agent.exec.processes).toEqual([])
  await agent.dispose()
})
