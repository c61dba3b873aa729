import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { gitDiffToRemote } from './git-diff.ts'
import { listFiles } from './list-files.ts'

let folder: string
let work: string
const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid', ...args], {
    cwd,
    encoding: 'utf8',
  }).trim()

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-diff-'))
  work = join(folder, 'work')
  git(folder, 'init', '-q', '--bare', 'remote.git')
  git(folder, 'clone', '-q', 'remote.git', 'work')
  writeFileSync(join(work, 'a.txt'), 'one\n')
  git(work, 'add', '.')
  git(work, 'commit', '-qm', 'first')
  git(work, 'push', '-q', 'origin', 'HEAD')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('tells commits, changes and new files since the remote, without the programs that the repository names for it', async () => {
  const sha = git(work, 'rev-parse', 'HEAD')
  writeFileSync(join(work, 'a.txt'), 'two\n')
  git(work, 'commit', '-qam', 'second')
  writeFileSync(join(work, 'a.txt'), 'three\n')
  writeFileSync(join(work, 'new.txt'), 'fresh\n')
  const canary = join(folder, 'ran')
  git(work, 'config', 'diff.external', `touch ${canary}`)
  git(work, 'config', 'core.fsmonitor', `touch ${canary}`)
  const found = await gitDiffToRemote(work)
  expect(found.sha).toBe(sha)
  expect(found.diff).toContain('-one\n+three\n')
  expect(found.diff).toContain('+++ b/new.txt\n@@ -0,0 +1 @@\n+fresh\n')
  expect((await listFiles(work, new AbortController().signal)).map(({ path }) => path).sort()).toEqual([
    'a.txt',
    'new.txt',
  ])
  expect(existsSync(canary)).toBe(false)
})

it('says why there is nothing to compare with', async () => {
  await expect(gitDiffToRemote(folder)).rejects.toThrow(/not a git repository/)
  git(folder, 'init', '-q', 'alone')
  await expect(gitDiffToRemote(join(folder, 'alone'))).rejects.toThrow(/no remote branch/)
})

it('lists without git what a person would mention', async () => {
  writeFileSync(join(folder, 'x.md'), '')
  const paths = (await listFiles(folder, new AbortController().signal)).map(({ path }) => path)
  expect(paths).toContain('x.md')
  expect(paths.some((path) => path.includes('/.git/'))).toBe(false)
})
