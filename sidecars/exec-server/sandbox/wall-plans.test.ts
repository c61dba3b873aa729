import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { entry, READ_ONLY, sandboxOf, WORKSPACE_WRITE } from '../../testing/confined-commands.ts'
import fc from '../../testing/fast-check.ts'
import type { PolicyContext } from './sandbox-places.ts'
import { WallPlans } from './wall-plans.ts'

const NAMES = ['ws', 'ws/.git', 'ws/.git/hooks', 'ws/.git/config', 'ws/.git/config.worktree', 'ws/.codex', 'ws/sub']
NAMES.push('ws/sub/.git', 'out', 'out/worktree', 'out/worktree/commondir', 'link', 'data', 'data/shown', 'ws/a.key')
const TARGETS = ['ws', '../out', 'out', 'ws/.git', 'missing', 'data', '.']
const SANDBOXES: ((at: (name: string) => string) => object[])[] = [
  () => READ_ONLY,
  () => WORKSPACE_WRITE,
  (at) => [...WORKSPACE_WRITE, entry(at('link'), 'write')],
  (at) => [...WORKSPACE_WRITE, entry(at('ws/sub'), 'read'), entry(at('ws/.git'), 'write'), entry(at('out'), 'deny')],
]

type Change =
  | { do: 'folder' | 'file' | 'remove'; name: string }
  | { do: 'link'; name: string; to: string }
  | { do: 'pointer'; name: string; to: string }
  | { do: 'rename'; name: string; to: string }

/** What may not be possible just now changes nothing. */
function make(base: string, change: Change): void {
  const path = join(base, change.name)
  try {
    if (change.do === 'remove') rmSync(path, { recursive: true })
    else if (change.do === 'rename') renameSync(path, join(base, change.to))
    else {
      mkdirSync(dirname(path), { recursive: true })
      if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(path)
      if (change.do === 'folder') mkdirSync(path, { recursive: true })
      else {
        rmSync(path, { recursive: true, force: true })
        if (change.do === 'link') symlinkSync(change.to, path)
        else writeFileSync(path, change.do === 'pointer' ? `gitdir: ${join(base, change.to)}\n` : '')
      }
    }
  } catch {
    // As it was.
  }
}

const name = fc.constantFrom(...NAMES)
const changes: fc.Arbitrary<Change>[] = [
  fc.record({ do: fc.constantFrom('folder', 'file', 'remove'), name }),
  fc.record({ do: fc.constant('link'), name, to: fc.constantFrom(...TARGETS) }),
  fc.record({ do: fc.constant('pointer'), name: fc.constantFrom('ws/.git', 'ws/sub/.git'), to: name }),
  fc.record({ do: fc.constant('rename'), name, to: name }),
]

it('a plan that is remembered is the one that would be made now, whatever happened to the files in between', () => {
  const steps = fc.array(
    fc.record({
      changes: fc.array(fc.oneof(...changes), { maxLength: 3 }),
      mountPoints: fc.array(name, { maxLength: 1 }),
    }),
    { minLength: 1, maxLength: 8 },
  )
  fc.assert(
    fc.property(fc.constantFrom(...SANDBOXES), steps, (entriesOf, sequence) => {
      const base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-plans-')))
      try {
        const [data, shown] = [pathOfText(join(base, 'data')), pathOfText(join(base, 'data/shown'))]
        const context: PolicyContext = { temporaryDirectories: [], denied: [data], shown: [shown] }
        let mountPoints: string[] = []
        const lookAround = () => (path: BytePath) => mountPoints.includes(path)
        const sandbox = sandboxOf({ root: join(base, 'ws'), entries: entriesOf((each) => join(base, each)) })
        const remembering = new WallPlans(context, lookAround)
        for (const step of [{ changes: [], mountPoints: [] }, ...sequence]) {
          for (const change of step.changes) make(base, change)
          mountPoints = step.mountPoints.map((each) => join(base, each))
          const answer = (plans: WallPlans) => {
            try {
              const { files, policy } = plans.planFor(sandbox)
              return { files, policy }
            } catch (error) {
              return { error: (error as Error).message }
            }
          }
          const remembered = answer(remembering)
          expect(remembered).toEqual(answer(new WallPlans(context, lookAround)))
          // Nothing happened: still the same one.
          expect(answer(remembering)).toEqual(remembered)
        }
      } finally {
        rmSync(base, { recursive: true, force: true })
      }
    }),
    { numRuns: Number(process.env.GATEHOUSE_FUZZ_RUNS ?? 60) },
  )
})

it('is used again as long as nothing changes, and patterns are looked for each time', () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-plans-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  mkdirSync(join(base, 'ws/.git'), { recursive: true })
  const plans = new WallPlans({ temporaryDirectories: [], denied: [] }, () => () => false)
  const plain = sandboxOf({ root: join(base, 'ws'), entries: WORKSPACE_WRITE })
  const { files } = plans.planFor(plain)
  expect(plans.planFor(structuredClone(plain)).files).toBe(files)
  const patterned = sandboxOf({
    root: join(base, 'ws'),
    entries: [...WORKSPACE_WRITE, entry({ glob: '*.key' }, 'none')],
  })
  const hidden = () => plans.planFor(patterned).files.mounts.filter(({ kind }) => kind === 'hiddenFile')
  expect(hidden()).toEqual([])
  writeFileSync(join(base, 'ws/a.key'), '')
  expect(hidden()).toEqual([{ kind: 'hiddenFile', path: join(base, 'ws/a.key') }])
})
