import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from './test-kit/owner.ts'

const BIN = join(dirname(dirname(__dirname)), 'bin', 'gatehouse')
const run = promisify(execFile)

interface Running {
  child: ChildProcess
  firstLine: string
  errors(): string
}

/** Runs `gatehouse …` until the test ends; resolves with its first line of output. */
function start(...argv: string[]): Promise<Running> {
  const child = spawn(process.execPath, [BIN, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  let errors = ''
  child.stderr.on('data', (bytes) => (errors += bytes))
  return new Promise((resolve, reject) => {
    child.stdout.on('data', (bytes) => {
      output += bytes
      if (output.includes('\n')) resolve({ child, firstLine: output.split('\n')[0]!, errors: () => errors })
    })
    child.on('exit', (code) => reject(new Error(`exited with ${code}: ${errors}`)))
  })
}

async function exitOf(...argv: string[]): Promise<{ code: number; stderr: string; stdout: string }> {
  return run(process.execPath, [BIN, ...argv]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

async function curl(proxy: string, ...argv: string[]): Promise<string> {
  const { stdout } = await run('curl', [
    '-s',
    '-m',
    '10',
    '-w',
    ' %{http_code}/%{http_connect}',
    '-x',
    proxy,
    ...argv,
  ]).catch((error: { stdout: string }) => error)
  return stdout
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

describe('gatehouse proxy', () => {
  let port = 0
  beforeAll(async () => {
    const origin = createServer((_request, response) => response.end('origin'))
    await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
    port = (origin.address() as { port: number }).port
    return () => void origin.close()
  })

  it('prints its URL first and lets curl through where a rule says so, by HTTP, CONNECT and SOCKS', async () => {
    const { firstLine } = await start('proxy', '--http', '127.0.0.1:0', '--allow', '127.0.0.1', '--deny', '127.0.0.2')
    expect(firstLine).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(await curl(firstLine, `http://127.0.0.1:${port}/`)).toBe('origin 200/000')
    expect(await curl(firstLine, '-p', `http://127.0.0.1:${port}/`)).toBe('origin 200/200')
    expect(await curl(firstLine, `http://127.0.0.2:${port}/`)).toMatch(/"reason":"denied".* 403\/000$/s)
    expect(await curl(firstLine, '-p', `http://127.0.0.2:${port}/`)).toMatch(/ 000\/403$/)
  })

  it('prints one JSON line on request, SOCKS included', async () => {
    const { firstLine } = await start(
      'proxy',
      '--http',
      '127.0.0.1:0',
      '--socks',
      '127.0.0.1:0',
      '--allow',
      '127.0.0.1',
      '--json',
    )
    const addresses = JSON.parse(firstLine) as { http: string; socks: string }
    expect(await curl(addresses.http, `http://127.0.0.1:${port}/`)).toBe('origin 200/000')
    expect(await curl(addresses.socks, `http://127.0.0.1:${port}/`)).toBe('origin 200/000')
  })

  it('follows its file, keeps the old settings when it breaks, and writes decisions down', async () => {
    const at = folder()
    const config = join(at, 'network.toml')
    const audit = join(at, 'audit.jsonl')
    const write = (domains: string) =>
      writeFileSync(config, `enabled = true\nproxy_url = "127.0.0.1:0"\nenable_socks5 = false\n[domains]\n${domains}\n`)
    write('"other.test" = "allow"')
    const { firstLine, errors } = await start('proxy', '--config', config, '--audit', audit)
    expect(await curl(firstLine, `http://127.0.0.1:${port}/`)).toMatch(/403\/000$/)
    write('"127.0.0.1" = "allow"')
    await eventually(() => errors().includes('configuration reloaded'))
    expect(await curl(firstLine, `http://127.0.0.1:${port}/`)).toBe('origin 200/000')
    write('"*" = "deny"')
    await eventually(() => errors().includes('configuration not reloaded'))
    expect(await curl(firstLine, `http://127.0.0.1:${port}/`)).toBe('origin 200/000')
    const decisions = () =>
      readFileSync(audit, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    await eventually(() => decisions().length >= 3)
    expect(decisions().map((event) => event['network.policy.decision'])).toEqual(['deny', 'allow', 'allow'])
    expect(statSync(audit).mode & 0o777).toBe(0o600)
  })

  it('stops on SIGTERM with exit code 0', async () => {
    const { child } = await start('proxy', '--http', '127.0.0.1:0')
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
  })

  it('says what is wrong: arguments, patterns, files, a taken port', async () => {
    expect(await exitOf('proxy', '--nonsense')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('usage:') as string,
    })
    expect(await exitOf('proxy', '--deny', '*')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('hosts that no rule allows') as string,
    })
    expect(await exitOf('proxy', '--config', '/nowhere.toml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/nowhere.toml: cannot be read') as string,
    })
    expect(await exitOf('proxy', '--http', `127.0.0.1:${port}`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('choose another port') as string,
    })
  })

  it('a disabled proxy starts nothing and says so', async () => {
    const config = join(folder(), 'network.json')
    writeFileSync(config, '{"enabled": false}')
    expect(await exitOf('proxy', '--config', config)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('disabled') as string,
    })
  })

  it('has its companions beside it', async () => {
    expect(await exitOf('stdio-to-uds')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exactly one socket path') as string,
    })
    expect((await exitOf('responses-proxy', '--help')).stdout).toContain('POST /v1/responses')
  })
})
