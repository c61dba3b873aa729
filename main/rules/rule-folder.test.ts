import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RuleFolder } from './rule-folder.ts'

// Generous: the machine may be busy with many other tests.
vi.setConfig({ testTimeout: 20_000 })
const until = (isSo: () => unknown) => vi.waitUntil(isSo, { timeout: 15_000 })

let path: string
let folder: RuleFolder
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'gatehouse-rules-')), 'rules')
  await mkdir(path)
  folder = new RuleFolder(path, () => {})
})
afterEach(() => folder.stop())

const put = (name: string, text: string | Buffer) => writeFile(join(path, name), text)
const get = (name: string) => readFile(join(path, name), 'utf8')
const inForce = () => folder.current().rules.map((rule) => `${rule.place?.file}:${rule.place?.line} ${rule.effect}`)
const problems = () => folder.current().problems.map(({ file, line, message }) => `${file}:${line} ${message}`)

describe('RuleFolder', () => {
  it('makes the folder when there is none and starts empty', async () => {
    await rm(path, { recursive: true })
    await folder.start()
    expect(folder.current()).toEqual({ rules: [], executables: [], problems: [], fileCount: 0 })
    expect(await readdir(path)).toEqual([])
  })

  it('E76 keeps the rules of a good file beside a broken one, none of whose allow rules is in force', async () => {
    await put('a.rules', 'prefix_rule(["sudo"], "forbidden")\n')
    await put('b.rules', 'prefix_rule(["git", "status"])\nprefix_rule(["curl"], "prompt")\nprefix_rule(["rm", "-rf"\n')
    await folder.start()
    expect(inForce()).toEqual(['a.rules:1 deny', 'b.rules:2 ask'])
    expect(problems()).toEqual(['b.rules:4 expected "," or "]" in a list, found the end of the file'])
  })

  it('E76 holds what a file denied while it was good, when an edit breaks it', async () => {
    await put('a.rules', 'prefix_rule(["sudo"], "forbidden")\nprefix_rule(["ls"])\n')
    await folder.start()
    await put('a.rules', 'prefix_rule(["sudo", "forbidden")\nprefix_rule(["ls"])\n')
    await folder.reload()
    expect(inForce()).toEqual(['a.rules:1 deny'])
    await put('a.rules', '# all gone on purpose\n')
    await folder.reload()
    expect(inForce()).toEqual([])
    expect(problems()).toEqual([])
  })

  it('E76 reports a folder, a dangling link, bytes that are no text and a wrong ending, and follows a good link', async () => {
    await mkdir(join(path, 'dir.rules'))
    await symlink('/nowhere/x', join(path, 'dangling.rules'))
    await put('bytes.rules', Buffer.from([0x23, 0xff, 0xfe]))
    await put('wrong.rule', 'prefix_rule(["x"])')
    await put('.hidden', '')
    await put('a.rules~', '')
    await writeFile(join(path, '..', 'real'), 'prefix_rule(["ls"])')
    await symlink('../real', join(path, 'link.rules'))
    await folder.start()
    expect(inForce()).toEqual(['link.rules:1 allow'])
    expect(problems()).toEqual([
      'wrong.rule:null it is not read, because its name does not end in ".rules"',
      'bytes.rules:null it cannot be read: it is not UTF-8 text',
      `dangling.rules:null it cannot be read: ENOENT: no such file or directory, stat '${join(path, 'dangling.rules')}'`,
      'dir.rules:null it cannot be read: it is not a regular file',
    ])
  })

  it('E76 keeps the denials of a file that became unreadable', async () => {
    await put('a.rules', 'prefix_rule(["sudo"], "forbidden")\nprefix_rule(["ls"])\n')
    await folder.start()
    // Stands for any file that cannot be read, also when the tests run as root.
    await rm(join(path, 'a.rules'))
    await mkdir(join(path, 'a.rules'))
    await folder.reload()
    expect(inForce()).toEqual(['a.rules:1 deny'])
  })

  it('P08 puts an edit in force without being told', async () => {
    let changes = 0
    folder = new RuleFolder(path, () => changes++)
    await folder.start()
    await put('a.rules', 'prefix_rule(["ls"])')
    await until(() => inForce().length === 1)
    await rm(join(path, 'a.rules'))
    await until(() => inForce().length === 0)
    expect(changes).toBeGreaterThanOrEqual(3)
  })

  it('appends a line once, after hand-made text without a line end, and keeps comments', async () => {
    await put('default.rules', '# mine\nprefix_rule(["ls"])')
    await folder.start()
    const text = 'prefix_rule(pattern=["npm", "test"], decision="allow")'
    expect(await Promise.all([folder.append(text), folder.append(text)])).toEqual(['default.rules', 'default.rules'])
    expect(await get('default.rules')).toBe(`# mine\nprefix_rule(["ls"])\n${text}\n`)
    expect(inForce()).toEqual(['default.rules:2 allow', 'default.rules:3 allow'])
    expect(await readdir(path)).toEqual(['default.rules'])
  })

  it('never touches a file it cannot read as text and appends beside it', async () => {
    await put('default.rules', Buffer.from([0xff, 0xff]))
    await folder.start()
    expect(await folder.append('prefix_rule(pattern=["ls"], decision="allow")')).toBe('added.rules')
    expect([...(await readFile(join(path, 'default.rules')))]).toEqual([0xff, 0xff])
    expect(inForce()).toEqual(['added.rules:1 allow'])
  })

  it('says what is wrong when nothing can be appended', async () => {
    await rm(path, { recursive: true })
    await writeFile(path, 'a file in the way')
    await expect(folder.append('prefix_rule(["ls"])')).rejects.toThrow(/^The rules in .*rules cannot be changed: /)
    expect(await readFile(path, 'utf8')).toBe('a file in the way')
  })

  it('takes out one rule and leaves the rest to the byte', async () => {
    const text = `# head
prefix_rule(["a"])  # why a
prefix_rule(
  ["b"],
)
prefix_rule(["c"]); prefix_rule(["d"])
prefix_rule(["a"])
`
    await put('default.rules', text)
    await folder.start()
    const take = (line: number, word: string) =>
      folder.current().rules.find((r) => r.place?.line === line && r.kind === 'command' && r.pattern[0]?.[0] === word)!
    expect(await folder.remove(take(3, 'b'))).toBe(true)
    expect(await get('default.rules')).toBe(text.replace('prefix_rule(\n  ["b"],\n)\n', ''))
    expect(await folder.remove(take(2, 'a'))).toBe(true)
    expect(await folder.remove(take(3, 'd'))).toBe(true)
    expect(await get('default.rules')).toBe('# head\n  # why a\nprefix_rule(["c"]); \nprefix_rule(["a"])\n')
    expect(inForce()).toEqual(['default.rules:3 allow', 'default.rules:4 allow'])
    const gone = { ...take(3, 'c'), text: 'prefix_rule(["never"])' }
    expect(await folder.remove(gone)).toBe(false)
  })
})
