import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { decode } from '../../protocol/decode.ts'
import { environmentInfo } from '../../protocol/exec-environment.ts'
import { MethodCaller } from '../../testing/method-caller.ts'
import { MethodTable } from '../wire/method-table.ts'
import { readEnvironmentInfo } from './environment-info.ts'
import { registerEnvironmentMethods } from './environment-methods.ts'

let base: string
let caller: MethodCaller

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-environment-')))
  for (const folder of ['home', 'etc']) mkdirSync(join(base, folder))
  const table = new MethodTable()
  registerEnvironmentMethods(table, {
    environmentInfo: () => readEnvironmentInfo({ shellSnapshotV2: false, networkProxyLaunch: true }),
    policyContext: { temporaryDirectories: [], denied: [] },
    configPlaces: { codexHome: join(base, 'home'), systemFolder: join(base, 'etc') },
    skillRoots: [
      { id: 'codex-home-skills', path: join(base, 'home/skills') },
      { id: 'user-agent-skills', path: join(base, 'agents/skills') },
    ],
  })
  caller = new MethodCaller(table)
})
afterEach(() => {
  caller.close()
  rmSync(base, { recursive: true, force: true })
})

describe('environment/info', () => {
  it('decodes at a client, in native and URI paths where the wire wants each', async () => {
    const info = decode(environmentInfo, await caller.call('environment/info', null))
    expect(info.shell.path).toMatch(/^\//)
    expect(['bash', 'zsh', 'sh']).toContain(info.shell.name)
    expect(info.userHomeDir).toBe(`file://${homedir()}`)
    expect(info.providerId).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(info.executorVersion).toBe('0.171.0')
    expect(await caller.call('environment/info', {})).toEqual(info)
  })
  it('announces what is there and leaves out what is not', async () => {
    const { capabilities } = await caller.call('environment/info', {})
    expect(capabilities).toMatchObject({ fsWatchMissing: true, environmentConfigRead: true, networkProxyLaunch: true })
    expect(Object.values(capabilities as object).every(Boolean)).toBe(true)
    expect(capabilities).not.toHaveProperty('shellSnapshotV2')
    expect(capabilities).not.toHaveProperty('windowsMxc')
  })
  it.each([['environment/info'], ['environment/status']])('%s takes no parameters', async (method) => {
    for (const params of [[], 'x', 5]) await expect(caller.call(method, params)).rejects.toMatchObject({ code: -32602 })
  })
  it('the server is ready', async () => {
    expect(await caller.call('environment/status', undefined)).toEqual({ status: 'ready' })
  })
})

describe('environmentConfig/read', () => {
  const both = [['mcp_servers']]
  const query = (more: Record<string, unknown> = {}) =>
    caller.call('environmentConfig/read', {
      cwd: 'file:///tmp',
      configPaths: both,
      requirementsPaths: both,
      ...more,
    }) as Promise<{ config: Layers; requirements: Layers } & Record<string, unknown>>
  type Layers = { layers: { source: string; baseDir: string; toml: string }[]; cloudInsertionIndex: number }
  const user = (text: string) => writeFileSync(join(base, 'home/config.toml'), text)
  const system = (text: string) => writeFileSync(join(base, 'etc/config.toml'), text)

  it('without any file answers with nothing', async () => {
    expect(await query()).toEqual({
      userHomeDir: `file://${homedir()}`,
      codexHomeDir: `file://${base}/home`,
      hostname: hostname(),
      config: { layers: [], cloudInsertionIndex: 0 },
      requirements: { layers: [], cloudInsertionIndex: 0 },
    })
  })
  it('gives the named parts of each layer, weakest first', async () => {
    user('model = "x"\n[mcp_servers.mine]\ncommand = "m"\n')
    system('[mcp_servers.all]\ncommand = "a"\n')
    writeFileSync(join(base, 'etc/managed_config.toml'), '[mcp_servers.managed]\ncommand = "z"\n')
    writeFileSync(join(base, 'etc/requirements.toml'), '[mcp_servers.must]\ncommand = "r"\n')
    const { config, requirements } = await query()
    expect(config.layers.map(({ source, baseDir, toml }) => [source, baseDir, parse(toml)])).toEqual([
      [`system (${base}/etc/config.toml)`, `file://${base}/etc`, { mcp_servers: { all: { command: 'a' } } }],
      [`user (${base}/home/config.toml)`, `file://${base}/home`, { mcp_servers: { mine: { command: 'm' } } }],
      [
        `legacy managed_config.toml (${base}/etc/managed_config.toml)`,
        `file://${base}/etc`,
        { mcp_servers: { managed: { command: 'z' } } },
      ],
    ])
    expect(config.cloudInsertionIndex).toBe(1)
    expect(requirements.layers.map((l) => l.source)).toEqual([`${base}/etc/requirements.toml`])
    expect(requirements.cloudInsertionIndex).toBe(1)
  })
  it('keeps what integers, floats and dates are', async () => {
    user('[mcp_servers.a]\nint = 9007199254740993\nfloat = 1.0\nwhen = 1979-05-27T07:32:00Z\nlist = [1, 2]\n')
    const [layer] = (await query()).config.layers
    expect(layer?.toml).toMatch(/int = 9007199254740993\nfloat = 1\.0\nwhen = 1979-05-27T07:32:00/)
  })
  it.each([
    [{ configPaths: [], requirementsPaths: [] }, 'at least one config or requirements path is required'],
    [{ configPaths: [[]] }, 'TOML paths must contain at least one key segment'],
    [{ cwd: '/tmp' }, 'invalid URI: relative URL without a base'],
    [{ cwd: 'file://host/tmp' }, "'file://host/tmp' is invalid on 'linux'"],
  ])('refuses %j', async (more, message) => {
    await expect(query(more)).rejects.toMatchObject({ code: -32602, message })
  })
  it.each([
    [{ cwd: undefined }],
    [{ configPaths: null }],
    [{ requirementsPaths: undefined }],
    [{ configPaths: ['x'] }],
  ])('refuses ill-typed %j', async (more) => {
    await expect(query(more)).rejects.toMatchObject({ code: -32602 })
  })
  it('a key path of 200,000 segments finds nothing and harms nobody', async () => {
    user('[a]\nb = 1\n')
    const { config } = await query({ configPaths: [Array.from({ length: 200_000 }, () => 'a')] })
    expect(config.layers[0]?.toml.trim()).toBe('[a]')
    expect(await caller.call('environment/status', {})).toEqual({ status: 'ready' })
  })
  it('names the file that is no TOML, and the place', async () => {
    user('fine = 1\nbad = [\n')
    await expect(query()).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/^failed to load executor-local config: .*home\/config\.toml:\d+:\d+: /),
    })
  })
  it('a file nested beyond reason is refused, and the server lives on', async () => {
    user(`${'a.'.repeat(200_000)}a = 1`)
    await expect(query({ configPaths: [['a']] })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/home\/config\.toml/),
    })
    expect(await caller.call('environment/status', {})).toEqual({ status: 'ready' })
  })
})

describe('capabilities/discoverV2', () => {
  const skill = (path: string, text: string, extra?: string) => {
    mkdirSync(join(base, path, 'agents'), { recursive: true })
    writeFileSync(join(base, path, 'SKILL.md'), text)
    if (extra) writeFileSync(join(base, path, 'agents/openai.yaml'), extra)
  }
  const discover = (sandbox?: unknown) =>
    caller.call('capabilities/discoverV2', { cwd: `file://${base}`, sandbox }) as Promise<{
      plugins: unknown[]
      skills: { name: string }[]
      warnings: string[]
    }>
  const sandboxOf = (...paths: string[]) => ({
    permissions: {
      type: 'managed',
      file_system: {
        type: 'restricted',
        entries: paths.map((path) => ({ path: { type: 'path', path: `file://${base}/${path}` }, access: 'read' })),
      },
      network: 'restricted',
    },
    windowsSandboxLevel: 'disabled',
  })

  it('finds nothing where nothing is', async () => {
    expect(await discover()).toEqual({ plugins: [], skills: [], warnings: [] })
  })
  it('lists skills with what they say of themselves', async () => {
    skill(
      'agents/skills/hello',
      '---\nname: hello\ndescription: Says hello\nmetadata:\n  short-description: short\n---\nbody\n',
    )
    skill(
      'home/skills/tool',
      '---\r\ndescription: "Uses: a tool"\r\n---\r\n',
      'dependencies:\n  tools:\n    - type: mcp\n      value: x\n      url: http://y\npolicy:\n  allow_implicit_invocation: false\n',
    )
    expect(await discover()).toEqual({
      plugins: [],
      skills: [
        {
          name: 'tool',
          description: 'Uses: a tool',
          shortDescription: null,
          path: `file://${base}/home/skills/tool/SKILL.md`,
          discoveryRoot: { id: 'codex-home-skills', path: `file://${base}/home/skills` },
          dependencies: {
            tools: [
              {
                type: 'mcp',
                value: 'x',
                description: null,
                transport: null,
                command: null,
                url: 'http://y',
                oauthCallbackPort: null,
              },
            ],
          },
          policy: { allowImplicitInvocation: false, products: [] },
        },
        {
          name: 'hello',
          description: 'Says hello',
          shortDescription: 'short',
          path: `file://${base}/agents/skills/hello/SKILL.md`,
          discoveryRoot: { id: 'user-agent-skills', path: `file://${base}/agents/skills` },
          dependencies: null,
          policy: null,
        },
      ],
      warnings: [],
    })
  })
  it('finds them in folders of folders and behind links', async () => {
    skill('agents/skills/group/deep', '---\nname: deep\ndescription: D\n---\n')
    skill('elsewhere/linked', '---\nname: linked\ndescription: D\n---\n')
    symlinkSync(join(base, 'elsewhere'), join(base, 'agents/skills/link'))
    expect((await discover()).skills.map((s) => s.name)).toEqual(['deep', 'linked'])
  })
  it.each([
    ['without front matter', 'just text\n'],
    ['without a description', '---\nname: x\n---\n'],
    ['with front matter that is no YAML', '---\n{ [\n---\n'],
    [
      'that is a YAML bomb',
      `---\na: &a [x,x,x]\n${'bcdefgh'
        .split('')
        .map((c, i) => `${c}: &${c} [*${'abcdefg'[i]},*${'abcdefg'[i]},*${'abcdefg'[i]}]`)
        .join('\n')}\ndescription: *h\n---\n`,
    ],
  ])('a skill %s is left out and warned about', async (_, text) => {
    skill('agents/skills/good', '---\nname: good\ndescription: D\n---\n')
    skill('agents/skills/bad', text)
    const found = await discover()
    expect(found.skills.map((s) => s.name)).toEqual(['good'])
    expect(found.warnings).toHaveLength(1)
  })
  it('under a sandbox shows only what may be read', async () => {
    skill('agents/skills/hello', '---\nname: hello\ndescription: D\n---\n')
    skill('home/skills/tool', '---\nname: tool\ndescription: D\n---\n')
    expect((await discover(sandboxOf('agents'))).skills.map((s) => s.name)).toEqual(['hello'])
  })
  it('needs the folder it is asked for', async () => {
    await expect(caller.call('capabilities/discoverV2', {})).rejects.toMatchObject({ code: -32602 })
  })
})
