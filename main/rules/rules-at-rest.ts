import { stat } from 'node:fs/promises'
import type { CommandRules } from '../../sidecars/rules/judge-command.ts'
import { readRuleFile, readRuleFolder, type RuleProblem } from '../../sidecars/rules/read-rule-file.ts'

/** Command rules as they lie on the disk, for whoever asks once. */
export interface RulesAtRest extends CommandRules {
  problems: RuleProblem[]
}

/**
 * Reads folders and single files of rules. What is broken or unreadable permits nothing and is named in
 * `problems`, as in a running host; a folder that is missing holds no rules.
 * Rejects with the file system's error when a single file does not exist.
 */
export async function readRulesAtRest(folders: readonly string[], files: readonly string[]): Promise<RulesAtRest> {
  await Promise.all(files.map((path) => stat(path)))
  const read = await Promise.all([
    ...folders.map((path) => readRuleFolder(path)),
    ...files.map((path) => readRuleFile(path)),
  ])
  const executables = new Map<string, string[]>()
  for (const { name, paths } of read.flatMap((file) => file.executables))
    executables.set(name, [...(executables.get(name) ?? []), ...paths])
  return {
    commands: read.flatMap(({ rules }) => rules.filter((rule) => rule.kind === 'command')),
    executables,
    problems: read.flatMap(({ problems }) => problems),
  }
}
