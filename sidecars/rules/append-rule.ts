/** Rules that are made by a click or a command, added to the files of a folder. */
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { withFileLock } from './file-lock.ts'
import { readRuleText } from './read-rule-file.ts'

/** Where such rules go. */
export const AMENDED_FILE = 'default.rules'
/** Where they go when that file cannot be read as text: it is left as it is. */
const SECOND_AMENDED_FILE = 'added.rules'

/**
 * Appends one rule on a line of its own, unless the line is there already. What is in the file stays as it
 * is. Resolves with the file's name; rejects with the file system's error.
 */
export async function appendRule(folder: string, text: string): Promise<string> {
  return withRulesLock(folder, async () => {
    const name = (await isText(join(folder, AMENDED_FILE))) ? AMENDED_FILE : SECOND_AMENDED_FILE
    const path = join(folder, name)
    const content = await readIfThere(path)
    if (content.split('\n').some((line) => line.trim() === text)) return name
    const file = await open(path, 'a', 0o600)
    try {
      await file.appendFile(`${content === '' || content.endsWith('\n') ? '' : '\n'}${text}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    return name
  })
}

/** Runs `work` while no other process changes the files of the folder, which is made when it is missing. */
export async function withRulesLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return withFileLock(join(folder, '.lock'), work)
}

/** The text of a rules file; empty when there is none. Rejects like `readRuleText` otherwise. */
export async function readIfThere(path: string): Promise<string> {
  try {
    return await readRuleText(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

async function isText(path: string): Promise<boolean> {
  return readIfThere(path).then(
    () => true,
    () => false,
  )
}
