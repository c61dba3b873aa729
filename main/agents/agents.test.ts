import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Agents } from './agents.ts'

// Programs are really started, on a machine that may be busy.
vi.setConfig({ testTimeout: 20_000 })

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-agents-'))
})
async function program(name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
  await chmod(join(folder, name), 0o755)
}
const agents = (installed: string[], attached: { agentName: string; via: string }[] = []) =>
  new Agents({
    commandLine: ['node', '/opt/my tools/gatehouse'],
    findProgram: (name) => (installed.includes(name) ? join(folder, name) : undefined),
    attached: () => attached,
  })

describe('Agents', () => {
  it('lists known agents with path, version, how they are attached and how to connect them', async () => {
    await program('codex', 'echo "codex-cli 0.171.0"')
    const list = await agents(
      ['codex'],
      [
        { agentName: 'codex-mcp-client', via: 'mcp-stdio' },
        { agentName: 'Codex', via: 'exec-ws' },
        { agentName: 'codex-mcp-client', via: 'mcp-stdio' },
      ],
    ).list()
    expect(list.find(({ name }) => name === 'Codex CLI')).toEqual({
      name: 'Codex CLI',
      path: join(folder, 'codex'),
      version: '0.171.0',
      connected: ['mcp-stdio', 'exec-ws'],
      howTo: "codex mcp add gatehouse -- node '/opt/my tools/gatehouse' mcp",
    })
    expect(list.find(({ name }) => name === 'Claude Code')).toMatchObject({ path: null, version: null, connected: [] })
  })

  it('says how to connect each one in its own words, with the command that works here', async () => {
    const howTo = (await agents([]).list()).map((agent) => agent.howTo)
    expect(howTo).toEqual([
      "claude mcp add gatehouse -- node '/opt/my tools/gatehouse' mcp",
      "codex mcp add gatehouse -- node '/opt/my tools/gatehouse' mcp",
      "gemini mcp add gatehouse node '/opt/my tools/gatehouse' mcp",
      'In opencode.json: "mcp": { "gatehouse": { "type": "local", "command": ["node","/opt/my tools/gatehouse","mcp"] } }',
      'In ~/.cursor/mcp.json: { "mcpServers": { "gatehouse": {"command":"node","args":["/opt/my tools/gatehouse","mcp"]} } }',
    ])
  })

  it('shows an agent that tells no version, fails or waits for an answer without one', async () => {
    await program('claude', 'echo "no number here"')
    await program('gemini', 'exit 3')
    await program('opencode', 'read answer; echo "got $answer"')
    const list = await agents(['claude', 'gemini', 'opencode']).list()
    expect(list.filter(({ path }) => path !== null).map(({ name, version }) => [name, version])).toEqual([
      ['Claude Code', null],
      ['Gemini CLI', null],
      ['opencode', null],
    ])
  })

  it('asks a program once a minute at most', async () => {
    await program('claude', `echo x >> ${join(folder, 'asked')}; echo 1.2.3`)
    const known = agents(['claude'])
    await Promise.all([known.list(), known.list()])
    await known.list()
    expect(await readFile(join(folder, 'asked'), 'utf8')).toBe('x\n')
  })
})
