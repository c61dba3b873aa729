import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SessionId } from '../../sidecars/protocol/ids.ts'
import { loadShellGrammar } from '../../sidecars/rules/shell-grammar.ts'
import { SettingsStore } from '../settings/settings.ts'
import { ProjectTrust } from './project-trust.ts'
import { Rules } from './rules.ts'

let home: string
let project: string
let rules: Rules
let trust: ProjectTrust
let notices: Map<string, string>
const session = 'ses_1' as SessionId
let sessionFolder: string | undefined

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-trust-')))
  project = join(home, 'project')
  await mkdir(join(project, '.gatehouse', 'rules'), { recursive: true })
  await mkdir(join(project, 'deep', 'down'), { recursive: true })
  await writeFile(
    join(project, '.gatehouse', 'rules', 'team.rules'),
    'prefix_rule(["make"])\nprefix_rule(["wipe"], "forbidden")\nnetwork_rule("ci.example", decision="allow")\n',
  )
  sessionFolder = project
  rules = new Rules({
    folder: join(home, 'data', 'rules'),
    context: { grammar: await loadShellGrammar(), isFileOf: () => false, isTrustedSearchPath: () => false },
    folderOf: () => sessionFolder,
  })
  await rules.start()
  notices = new Map()
  const settings = await SettingsStore.open({ path: join(home, 'settings.json'), onProblem: () => {} })
  trust = new ProjectTrust({
    settings,
    rules,
    notices: { raise: (id, { message }) => notices.set(id, message), clear: (id) => notices.delete(id) },
    ownRules: join(home, 'data', 'rules'),
  })
  await trust.apply()
})
afterEach(async () => {
  await rules.stop()
  await rm(home, { recursive: true, force: true })
})
const verdict = (command: string, cwd: string) => rules.checkShellText(command, cwd).verdict
const reach = (host: string) =>
  rules.judge({
    subject: { kind: 'connection', host, port: 443, protocol: 'https' },
    subjectHash: host,
    sessionId: session,
  }).verdict

it('names a project with rules once and lets none of them count before it is trusted', async () => {
  trust.noteFolder(join(project, 'deep'))
  trust.noteFolder(project)
  expect([...notices.values()]).toEqual([
    'The project project brings rules of its own. They are not in force until you trust it on the Rules page.',
  ])
  expect(verdict('make', project)).toBe('ask')
  expect(await trust.list()).toEqual([{ root: project, trust: 'unknown', files: ['team.rules'] }])
})

it('rules of a trusted project hold below its folder, also through a link, and nowhere else', async () => {
  trust.noteFolder(project)
  await trust.set(project, 'trusted')
  expect(notices.size).toBe(0)
  await symlink(project, join(home, 'link'))
  await symlink(home, join(project, 'out'))
  expect(verdict('make', join(project, 'deep', 'down'))).toBe('allow')
  expect(verdict('make', join(home, 'link', 'deep'))).toBe('allow')
  expect(verdict('wipe x', project)).toBe('deny')
  expect(verdict('make', home)).toBe('ask')
  expect(verdict('make', join(project, 'out'))).toBe('ask')
  expect(verdict('wipe x', home)).toBe('ask')
  const all = rules.all().map(({ place }) => place?.file)
  expect(new Set(all)).toEqual(new Set([join(project, '.gatehouse', 'rules', 'team.rules')]))
})

it('hosts of a trusted project count for sessions that work in it, at the proxy too', async () => {
  await trust.set(project, 'trusted')
  expect(reach('ci.example')).toBe('allow')
  expect(rules.forProxy().rules).toEqual([])
  rules.openSession(session)
  expect(rules.forProxy().rules).toMatchObject([{ pattern: 'ci.example', verdict: 'allow', sessionId: session }])
  rules.endSession(session)
  expect(rules.forProxy().rules).toEqual([])
  sessionFolder = home
  expect(reach('ci.example')).toBe('ask')
})

it('an owner who denies is not overruled by a project', async () => {
  rules.addText('prefix_rule(["make"], "forbidden")')
  await trust.set(project, 'trusted')
  expect(verdict('make', project)).toBe('deny')
})

it('its files are never changed by the window, and trust can be taken back', async () => {
  await trust.set(project, 'trusted')
  const rule = rules.all().find(({ text }) => text.includes('make'))!
  await expect(rules.remove(rule.id)).rejects.toThrow('which is not ours; change it there')
  await trust.set(project, 'untrusted')
  expect(verdict('make', project)).toBe('ask')
  expect(rules.all()).toEqual([])
  trust.noteFolder(project)
  expect(notices.size).toBe(0)
})

it("the owner's own folder of rules is no project's", async () => {
  await mkdir(join(home, '.gatehouse', 'rules'), { recursive: true })
  const own = new ProjectTrust({
    settings: await SettingsStore.open({ path: join(home, 's.json'), onProblem: () => {} }),
    rules,
    notices: { raise: (id, { message }) => notices.set(id, message), clear: () => {} },
    ownRules: join(home, '.gatehouse', 'rules'),
  })
  own.noteFolder(join(home, 'data'))
  expect(notices.size).toBe(0)
})

it('refuses a folder that is not absolute', async () => {
  await expect(trust.set('project', 'trusted')).rejects.toThrow('root: expected the absolute path')
})
