/** What a working copy has that its remote has not. */
import { execFile } from 'node:child_process'

const MAX_DIFF_BYTES = 64 * 1024 * 1024
/** Programs that the repository's own settings name for listings and diffs are left out. */
const HARMLESS = ['-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false']
const PLAIN_DIFF = ['--no-ext-diff', '--no-textconv', '--no-color']

/** Rejects with a sentence when `cwd` is in no repository, or in one without a remote branch to compare with. */
export async function gitDiffToRemote(cwd: string): Promise<{ sha: string; diff: string }> {
  const git = (args: string[], goodCodes = [0]) => runGit(cwd, args, goodCodes)
  const root = (await git(['rev-parse', '--show-toplevel'])).trim()
  const base = await remoteBase(git)
  const tracked = await git(['diff', ...PLAIN_DIFF, base])
  const untracked = (await git(['ls-files', '--others', '--exclude-standard', '-z', '--full-name', root])).split('\0')
  const added: string[] = []
  for (const path of untracked.filter(Boolean))
    // 1 says that they differ, which a new file does.
    added.push(await runGit(root, ['diff', ...PLAIN_DIFF, '--no-index', '--', '/dev/null', path], [0, 1]))
  return { sha: base, diff: tracked + added.join('') }
}

/** The newest commit that the remote is known to have. */
async function remoteBase(git: (args: string[]) => Promise<string>): Promise<string> {
  for (const ref of ['@{upstream}', 'origin/HEAD', 'origin/main', 'origin/master']) {
    const sha = await git(['merge-base', 'HEAD', ref]).catch(() => '')
    if (sha.trim() !== '') return sha.trim()
  }
  throw new Error('this repository knows no remote branch to compare with')
}

function runGit(cwd: string, args: readonly string[], goodCodes: readonly number[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'git',
      [...HARMLESS, ...args],
      { cwd, maxBuffer: MAX_DIFF_BYTES, encoding: 'utf8' },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code
        if (typeof code === 'number' && goodCodes.includes(code)) return resolve(stdout)
        reject(new Error(stderr.trim() || error?.message || `git ended with ${String(code)}`))
      },
    )
  })
}
