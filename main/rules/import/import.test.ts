import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { previewClaudeSettings } from './claude-settings.ts'
import { previewCodexConfig, previewCodexRules } from './codex-settings.ts'
import type { ImportPreview } from './import-preview.ts'
import { findImportSources, previewImport } from './import-sources.ts'

const texts = ({ rules }: ImportPreview) => rules.map(({ text }) => text)
const left = ({ unmapped }: ImportPreview) => unmapped.map(({ from }) => from)

describe('settings of Claude Code', () => {
  const claude = (permissions: object, more: object = {}) =>
    previewClaudeSettings(JSON.stringify({ permissions, ...more }))

  it('commands become prefixes, hosts become host rules, in their three effects', () => {
    const preview = claude({
      allow: ['Bash(git diff:*)', 'Bash(npm run lint *)', 'WebFetch(domain:docs.example.org)'],
      ask: ['Bash(git push:*)'],
      deny: ['Bash(curl:*)', 'WebFetch(domain:evil.example)'],
    })
    expect(texts(preview)).toEqual([
      'prefix_rule(pattern=["git", "diff"], decision="allow")',
      'prefix_rule(pattern=["npm", "run", "lint"], decision="allow")',
      'network_rule(host="docs.example.org", decision="allow")',
      'prefix_rule(pattern=["git", "push"], decision="prompt")',
      'prefix_rule(pattern=["curl"], decision="forbidden")',
      'network_rule(host="evil.example", decision="deny")',
    ])
    expect(preview.unmapped).toEqual([])
    expect(preview.rules.every(({ wider }) => wider === null)).toBe(true)
  })

  it('says where a rule would permit more than the entry did', () => {
    const preview = claude({ allow: ['Bash(npm run build)'], deny: ['Bash(git push origin main)'] })
    expect(preview.rules.map(({ wider }) => wider)).toEqual(['it also allows more words behind these', null])
  })

  it('names what no rule can say, with the reason, and takes nothing too wide', () => {
    const preview = claude(
      {
        allow: ['Bash', 'Bash(*)', 'Bash(python3:*)', 'Bash(sudo:*)', 'Bash(rm:*)', 'Bash(git:*)', 'Read(~/.zshrc)'],
        ask: ['Bash(git * main)', 'Bash(ls && make)', 'mcp__github__search', 'WebFetch'],
        defaultMode: 'acceptEdits',
        additionalDirectories: ['../docs'],
      },
      { sandbox: { network: { allowedDomains: ['*.example.org', 'not a host'] } } },
    )
    expect(texts(preview)).toEqual(['network_rule(host="*.example.org", decision="allow")'])
    expect(left(preview)).toHaveLength(14)
    expect(preview.unmapped.every(({ why }) => why.length > 10)).toBe(true)
  })

  it('takes equal entries once and refuses what is no JSON object', () => {
    expect(texts(claude({ allow: ['Bash(ls:*)', 'Bash(ls *)'] }))).toHaveLength(1)
    expect(() => previewClaudeSettings('[]')).toThrow('it is not a JSON object')
    expect(() => previewClaudeSettings('{')).toThrow('it is not JSON')
    expect(previewClaudeSettings('{}')).toEqual({ rules: [], unmapped: [] })
  })
})

describe('settings of the Codex CLI', () => {
  it('hosts of permission profiles become host rules; the rest is named with its place here', () => {
    const preview = previewCodexConfig(`
approval_policy = "never"
sandbox_mode = "workspace-write"
[projects."/home/a/b"]
trust_level = "trusted"
[permissions.work.network.domains]
"api.example.org" = "allow"
"**.evil.example" = "deny"
"odd.example" = "maybe"
`)
    expect(texts(preview)).toEqual([
      'network_rule(host="api.example.org", decision="allow")',
      'network_rule(host="**.evil.example", decision="deny")',
    ])
    expect(left(preview)).toEqual([
      'approval_policy',
      'sandbox_mode',
      'projects: /home/a/b',
      'permissions.work.network: odd.example = "maybe"',
    ])
    expect(() => previewCodexConfig('= nothing')).toThrow('it is not TOML')
  })

  it('literal rules are taken as they are, computed ones and too wide ones are named', () => {
    const preview = previewCodexRules(
      'default.rules',
      `prefix_rule(pattern=["mkdir", "-p"], decision="allow")
prefix_rule(pattern=["git", ["status", "log"]])
prefix_rule(pattern=["bash", "-lc"], decision="allow")
prefix_rule(pattern=["rm"], decision="forbidden", justification="use trash")
for x in ["a"]: prefix_rule(pattern=[x])
network_rule(host="example.test", protocol="http", decision="allow", justification="ok")
`,
    )
    expect(texts(preview)).toEqual([
      'prefix_rule(pattern=["mkdir", "-p"], decision="allow")',
      'prefix_rule(pattern=["git", ["status", "log"]])',
      'prefix_rule(pattern=["rm"], decision="forbidden", justification="use trash")',
      'network_rule(host="example.test", protocol="http", decision="allow", justification="ok")',
    ])
    expect(left(preview)).toEqual(['default.rules:3', 'default.rules:5'])
  })
})

describe('files to import from', () => {
  let home: string
  beforeEach(async () => (home = await mkdtemp(join(tmpdir(), 'gatehouse-import-'))))
  afterEach(() => rm(home, { recursive: true, force: true }))

  it('are those on this machine, and no other file is read', async () => {
    const codex = join(home, '.codex')
    expect(await findImportSources(home, codex)).toEqual([])
    await mkdir(join(codex, 'rules'), { recursive: true })
    await mkdir(join(home, '.claude'))
    await writeFile(join(codex, 'rules', 'default.rules'), 'prefix_rule(["ls"])\n')
    await writeFile(join(home, '.claude', 'settings.json'), '{"permissions":{"allow":["Bash(cat:*)"]}}')
    await writeFile(join(home, 'secret'), 'x')
    const sources = await findImportSources(home, codex)
    expect(sources.map(({ path }) => path)).toEqual([
      join(codex, 'rules', 'default.rules'),
      join(home, '.claude', 'settings.json'),
    ])
    expect(texts(await previewImport(sources[0]!.path, sources))).toEqual([
      'prefix_rule(pattern=["ls"], decision="allow")',
    ])
    expect(texts(await previewImport(sources[1]!.path, sources))).toHaveLength(1)
    await expect(previewImport(join(home, 'secret'), sources)).rejects.toThrow('is not among the files')
    await writeFile(join(home, '.claude', 'settings.json'), 'nothing')
    await expect(previewImport(sources[1]!.path, sources)).rejects.toThrow('cannot be imported: it is not JSON')
  })
})
