/** The patch tool: read, plan, ask, write. */
import { relative } from 'node:path'
import { commitPatch } from './commit-patch.ts'
import { parsePatch } from './parse-patch.ts'
import { planPatch, type PlannedChange } from './plan-patch.ts'

export interface ApplyPatchOptions {
  cwd: string
  /** Asked once with the whole plan before anything is written; throwing refuses the patch. */
  approve: (changes: readonly PlannedChange[]) => Promise<void>
}

/**
 * Applies a patch completely or not at all.
 * @returns the plan that was carried out
 * @throws PatchError (nothing changed) or whatever `approve` threw
 */
export async function applyPatch(text: string, options: ApplyPatchOptions): Promise<PlannedChange[]> {
  const changes = await planPatch(parsePatch(text), options.cwd)
  await options.approve(changes)
  await commitPatch(changes)
  return changes
}

/** The summary a model expects: added, modified (a move counts as its destination) and deleted files. */
export function describeChanges(changes: readonly PlannedChange[], cwd: string): string {
  const letter = { add: 'A', update: 'M', move: 'M', delete: 'D' } as const
  const order = ['A', 'M', 'D']
  const rows = changes.map((c) => `${letter[c.kind]} ${shown(c.movedTo ?? c.path, cwd)}`)
  rows.sort((a, b) => order.indexOf(a[0]!) - order.indexOf(b[0]!))
  return `Success. Updated the following files:\n${rows.join('\n')}\n`
}

function shown(path: string, cwd: string): string {
  const inside = relative(cwd, path)
  return inside === '' || inside.startsWith('..') ? path : inside
}
