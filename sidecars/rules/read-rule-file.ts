/** Rule files on the disk: what of them is in force, and what is wrong with the rest. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseRuleFile, type RuleFile } from './rule-file.ts'
import type { HostExecutable, Rule } from './rule.ts'

/** Nobody writes so many rules; reading more would only take time. */
const LARGEST_FILE_BYTES = 4 * 1024 * 1024

export interface RuleProblem {
  file: string
  /** Null when the file as a whole is meant. */
  line: number | null
  message: string
}

export interface ReadRules {
  /** What is in force of the file. */
  rules: Rule[]
  executables: HostExecutable[]
  problems: RuleProblem[]
  /** The content when it was last without a problem. */
  good: RuleFile | undefined
}

export interface ReadOptions {
  /** How the file is called in places and problems; default: the last part of its path. */
  name?: string
  /** Its content when it was last without a problem: what that asked about or denied stays in force. */
  good?: RuleFile | undefined
  /** What is wrong with the disk, as a clause. Default: the error's own words. */
  describe?: (error: unknown) => string | Promise<string>
}

/**
 * Reads one file. A broken or unreadable one never permits anything: none of its allow rules is in force,
 * its other rules are, and so are the asking and denying ones of `good`. Never rejects.
 */
export async function readRuleFile(path: string, options: ReadOptions = {}): Promise<ReadRules> {
  const { name = basename(path), good, describe = (error) => (error as Error).message } = options
  let file: RuleFile
  try {
    file = parseRuleFile(name, await readRuleText(path))
  } catch (error) {
    const message = `it cannot be read: ${await describe(error)}`
    return { ...restrictions(undefined, good), problems: [{ file: name, line: null, message }], good }
  }
  if (file.problems.length === 0) return { rules: file.rules, executables: file.executables, problems: [], good: file }
  const problems = file.problems.map((problem) => ({ file: name, ...problem }))
  return { ...restrictions(file, good), problems, good }
}

/**
 * Every `*.rules` file of a folder, in the order of their names; a folder that is missing holds none. The files
 * of a foreign one go by their whole path.
 */
export async function readRuleFolder(path: string, isForeign = false): Promise<Omit<ReadRules, 'good'>> {
  let names: string[]
  try {
    names = (await readdir(path)).filter((name) => name.endsWith('.rules') && !isByproduct(name)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { rules: [], executables: [], problems: [] }
    const message = `the folder cannot be read: ${(error as Error).message}`
    return { rules: [], executables: [], problems: [{ file: path, line: null, message }] }
  }
  const paths = names.map((name) => join(path, name))
  const read = await Promise.all(paths.map((file) => readRuleFile(file, isForeign ? { name: file } : {})))
  return {
    rules: read.flatMap(({ rules }) => rules),
    executables: read.flatMap(({ executables }) => executables),
    problems: read.flatMap(({ problems }) => problems),
  }
}

/** Hidden files, backups of editors and what our own replacing leaves for a moment. */
export const isByproduct = (name: string): boolean => /^\.|~$|\.(swp|tmp|bak|orig)$|\.(new|corrupt)-/.test(name)

/**
 * The text of a rules file.
 * @throws Error when it is no regular file, too large or not UTF-8; the file system's error otherwise
 */
export async function readRuleText(path: string): Promise<string> {
  const found = await stat(path)
  if (!found.isFile()) throw new Error('it is not a regular file')
  if (found.size > LARGEST_FILE_BYTES) throw new Error(`it is larger than ${LARGEST_FILE_BYTES} bytes`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
      ? new Error('it is not UTF-8 text')
      : error
  }
}

/** The asking and denying rules of both versions of a broken file. */
function restrictions(now: RuleFile | undefined, good: RuleFile | undefined): Pick<ReadRules, 'rules' | 'executables'> {
  const rules = new Map<string, Rule>()
  for (const rule of [...(good?.rules ?? []), ...(now?.rules ?? [])])
    if (rule.effect !== 'allow') rules.set(rule.id, rule)
  return { rules: [...rules.values()], executables: [...(good?.executables ?? []), ...(now?.executables ?? [])] }
}
