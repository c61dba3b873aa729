/** Rules, decisions and wrong command lines, from the built files. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ApprovalView } from '../../preload/api.ts'
import { ControlClient } from '../control/control-client.ts'
import { readLiveHostFile } from '../control/host-file.ts'
import { CliHome, until } from './cli-fixture.ts'

let home: CliHome
beforeEach(() => {
  home = new CliHome()
})
afterEach(() => home.dispose())
const snapshot = async () => {
  const file = await readLiveHostFile(home.lockDir)
  const client = await ControlClient.connect(file ?? { controlSocket: '', controlToken: '' })
  const feed = await client.invoke('feed.snapshot')
  client.close()
  return feed
}

describe('rules and decisions', () => {
  test('a deny rule stops a run with 126, the reason, and nothing run', async () => {
    mkdirSync(join(home.dataDir, 'rules'), { recursive: true })
    writeFileSync(
      join(home.dataDir, 'rules/default.rules'),
      'prefix_rule(pattern=["touch"], decision="forbidden", justification="no touching here")\n',
    )
    await home.serve()
    const canary = join(home.dataDir, 'canary')
    const denied = await home.run(['run', '--', 'touch', canary])
    expect(denied.exitCode).toBe(126)
    expect(denied.stderr).toContain('no touching here')
    expect(existsSync(canary)).toBe(false)
    expect((await home.run(['run', '--', 'true'])).exitCode).toBe(0)
  })

  test('what an agent asks is listed, shown whole, and allowed or denied with words', async () => {
    await home.serve()
    const canary = join(home.dataDir, 'canary')
    const agent = home.start(['mcp'])
    const answers: { id?: number; result?: { content?: { text?: string }[]; isError?: boolean } }[] = []
    let unread = ''
    agent.child.stdout?.on('data', (chunk: Buffer) => {
      const lines = (unread + chunk.toString()).split('\n')
      unread = lines.pop() ?? ''
      for (const line of lines) answers.push(JSON.parse(line) as (typeof answers)[number])
    })
    const send = (message: object) => agent.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const answer = async (id: number) => {
      await until(() => answers.some((message) => message.id === id))
      return answers.find((message) => message.id === id)
    }
    const call = (id: number, argv: string[]) =>
      send({ id, method: 'tools/call', params: { name: 'run_command', arguments: { argv, cwd: home.dataDir } } })

    send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test-agent', version: '1' } },
    })
    await answer(1)
    send({ method: 'notifications/initialized' })

    const pending = async () => {
      let list: ApprovalView[] = []
      await until(async () => (list = await home.json<ApprovalView[]>(['approvals'])).length === 1)
      return list[0] as ApprovalView
    }
    call(2, ['touch', canary])
    const first = await pending()
    expect(first).toMatchObject({ agentName: 'test-agent', state: 'pending', subject: { argv: ['touch', canary] } })
    const long = await home.run(['approvals', '--long'])
    expect(long.stdout.toString()).toContain(`command  touch ${canary}`)
    const denied = await home.run(['deny', first.id, '--reason', 'not in this folder please'])
    expect(denied.stdout.toString()).toBe(`denied (once): touch ${canary}\n`)
    expect(JSON.stringify((await answer(2))?.result)).toContain('not in this folder please')
    expect(existsSync(canary)).toBe(false)

    call(3, ['touch', canary])
    const second = await pending()
    expect((await home.run(['approve', second.id, '--scope', 'forever'])).stderr).toContain(
      '--scope: expected once, session or always',
    )
    expect((await home.run(['approve', second.id])).stdout.toString()).toBe(`allowed (once): touch ${canary}\n`)
    await answer(3)
    expect(existsSync(canary)).toBe(true)
    const again = await home.run(['approve', second.id])
    expect([again.exitCode, again.stderr]).toEqual([
      1,
      expect.stringContaining('It was already allowed once by you on the command line at'),
    ])
    agent.child.stdin?.end()
    expect((await agent.finished).exitCode).toBe(0)
  })

  test('env leads a shell through the proxy', async () => {
    await home.serve()
    const { stdout } = await home.run(['env'])
    expect(stdout.toString()).toMatch(/^export HTTPS_PROXY='http:\/\/\S*127\.0\.0\.1:\d+'$/m)
    const variables = JSON.parse((await home.run(['env', '--format', 'json'])).stdout.toString()) as {
      HTTP_PROXY: string
    }
    // Our own machine is never reached through the proxy without a rule, so this is answered at once.
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const { hostname, port, username, password } = new URL(variables.HTTP_PROXY)
      const auth = username === '' ? {} : { auth: `${username}:${password}` }
      get({ hostname, port, path: 'http://127.0.0.1:9/', headers: { host: '127.0.0.1:9' }, ...auth }, resolve).on(
        'error',
        reject,
      )
    })
    answer.resume()
    expect([answer.statusCode, answer.headers['x-proxy-error']]).toEqual([403, expect.any(String)])
    const blocked = async () =>
      Object.values((await snapshot()).tables.connections).find(({ host, port }) => host === '127.0.0.1' && port === 9)
    await until(async () => (await blocked()) !== undefined)
    expect(await blocked()).toMatchObject({ state: 'blocked', sessionTitle: expect.stringContaining('terminal') })
  })
})

describe('wrong command lines', () => {
  test.each([
    [['nonsense'], 2, 'there is no command "nonsense"'],
    [['status', '--jsn'], 2, "status: Unknown option '--jsn'"],
    [['approve'], 2, 'approve: ID is missing'],
    [['run'], 2, 'run: COMMAND is missing'],
    [['run', ''], 2, 'run: COMMAND is empty'],
    [['logs', 'a', 'b'], 2, 'logs: unexpected argument "b"'],
    [['env', '--format', 'csh'], 2, '--format: expected sh, fish, json, got "csh"'],
    [['approvals'], 1, 'Gatehouse is not running; start the app, or run: gatehouse serve'],
  ])('%j is refused with the argument named', async (args, exitCode, words) => {
    const finished = await home.run(args)
    expect(finished.exitCode).toBe(exitCode)
    expect(finished.stderr).toContain(words)
    expect(finished.stderr).not.toContain('    at ')
  })

  test.each([
    [['run', 'ls'], 125],
    [['check', '--', 'ls'], 1],
    [['mcp'], 1],
  ] as const)('%j in a folder that was deleted says so', async (args, exitCode) => {
    const gone = join(home.homeDir, 'gone')
    mkdirSync(gone)
    const words = [process.execPath, resolve('bin/gatehouse'), ...args]
    const { status, stderr } = spawnSync('sh', ['-c', 'rmdir "$PWD"; exec "$@"', 'sh', ...words], {
      cwd: gone,
      env: home.env,
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([exitCode, expect.stringContaining('cd to another one')])
  })

  test('every command has help, and help for run stops at its command', async () => {
    const overview = (await home.run(['--help'])).stdout.toString()
    for (const name of ['app-server', 'exec-server', 'mcp-server', 'proxy', 'responses-proxy', 'stdio-to-uds'])
      expect(overview).toContain(`  ${name} `)
    for (const name of ['serve', 'status', 'approvals', 'approve', 'deny', 'processes', 'logs', 'run', 'env', 'mcp']) {
      expect(overview).toContain(`  ${name}`)
      const help = await home.run([name, '--help'])
      expect([help.exitCode, help.stdout.toString()]).toEqual([0, expect.stringContaining(`gatehouse ${name}`)])
    }
  })
})
