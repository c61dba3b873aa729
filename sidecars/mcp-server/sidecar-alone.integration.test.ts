import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, expect, test } from 'vitest'
import { ERAS, eraOptions, factsOf, textOf } from '../testing/mcp-line-client.ts'

const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), '../../out/sidecars/mcp-server.cjs')
const started: ChildProcessWithoutNullStreams[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

function start(...args: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args])
  started.push(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (output.stderr += String(chunk)))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { child, output, exited }
}

test.each(ERAS)('alone it explains that nobody can decide, and what to do instead (%s)', async (era) => {
  const client = new Client({ name: 'agent', version: '1' }, eraOptions(era))
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM], stderr: 'pipe' }))
  const run = await client.callTool({ name: 'run_command', arguments: { argv: ['true'] } })
  expect(run.isError).toBe(true)
  expect(textOf(run)).toContain('`gatehouse serve`')
  expect(factsOf(await client.callTool({ name: 'list_processes', arguments: {} }))).toEqual({ processes: [] })
  expect(factsOf(await client.callTool({ name: 'status', arguments: {} }))).toMatchObject({ host: 'none' })
  const permission = await client.callTool({ name: 'request_permission', arguments: { tool_name: 'Bash', input: {} } })
  expect(JSON.parse(textOf(permission))).toMatchObject({ behavior: 'deny' })
  await client.close()
})

test('over HTTP the first line on stdout is the URL, and the token comes from a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gh-alone-'))
  writeFileSync(join(folder, 'token'), 'sesame\n', { mode: 0o600 })
  const { child, output, exited } = start('--listen', 'http://127.0.0.1:0', '--token-file', join(folder, 'token'))
  await expect.poll(() => output.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\n$/)
  const client = new Client({ name: 'agent', version: '1' })
  const headers = { authorization: 'Bearer sesame' }
  await client.connect(new StreamableHTTPClientTransport(new URL(output.stdout.trim()), { requestInit: { headers } }))
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('run_command')
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(output.stderr).toBe('')
  rmSync(folder, { recursive: true })
})

test.each([
  [['--listen', 'http://0.0.0.0:80'], /--listen "http:\/\/0\.0\.0\.0:80": expected stdio, http:\/\/127\.0\.0\.1:PORT/],
  [['--listen', 'tcp://1'], /--listen "tcp:\/\/1": expected/],
  [['--frob'], /--frob/],
])('the arguments %j are refused with the usage', async (args, message) => {
  const { output, exited } = start(...args)
  expect(await exited).toBe(2)
  expect(output.stderr).toMatch(message)
  expect(output.stderr).toContain('usage: gatehouse mcp-server')
  expect(output.stdout).toBe('')
})

test('A1 whatever comes in, every line that goes out is one JSON object', async () => {
  const { child, output, exited } = start()
  child.stdin.end(
    `nonsense\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n[]\n{"jsonrpc":"2.0","id":2,"method":"no/such"}\n`,
  )
  expect(await exited).toBe(0)
  const lines = output.stdout.trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { id: unknown }).id)).toEqual(expect.arrayContaining([null, 1, 2]))
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('A2 on stdio it ends on %s', async (signal) => {
  const { child, output, exited } = start()
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
  await expect.poll(() => output.stdout).toContain('run_command')
  child.kill(signal)
  expect(await exited).toBe(0)
})
