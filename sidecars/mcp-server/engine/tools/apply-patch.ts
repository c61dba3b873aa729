/** `apply_patch`: edits files, all or none, asking where it would write outside the sandbox's roots. */
import type { FileChange, FileChangeItem } from '../../../protocol/app-server/thread-item.ts'
import type { Subject } from '../../../protocol/subject.ts'
import { describeChanges } from '../../patch/apply-patch.ts'
import { commitPatch } from '../../patch/commit-patch.ts'
import { parsePatch, PatchError } from '../../patch/parse-patch.ts'
import { planPatch, type PlannedChange } from '../../patch/plan-patch.ts'
import type { ActiveTurn } from '../active-turn.ts'
import { pathsOutside } from '../../../rules/writable-places.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, TurnStop, type ToolCall, type ToolHandler, type ToolOutput } from '../tool-call.ts'
import { needText } from '../tool-arguments.ts'

export function applyPatchTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: false,
    waitsForCancellation: true,
    run: (call, turn, signal) => runPatch(thread, call.callId, turn, patchText(call), turn.settings.cwd, signal),
  }
}

function patchText(call: ToolCall): string {
  return call.payload.kind === 'custom' ? call.payload.input : needText(argumentsOf(call), 'input')
}

/** Also used for a patch that was written as a shell command. */
export async function runPatch(
  thread: ThreadRuntime,
  callId: string,
  turn: ActiveTurn,
  text: string,
  cwd: string,
  signal: AbortSignal,
): Promise<ToolOutput> {
  let changes: PlannedChange[]
  try {
    changes = await planPatch(parsePatch(text), cwd)
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    throw new ToolFailure(`apply_patch verification failed: ${error.message}`)
  }
  const item: FileChangeItem = {
    type: 'fileChange',
    id: callId,
    changes: changes.map(fileChange),
    status: 'inProgress',
  }
  const outside = await outsidePaths(thread, turn, changes)
  if (outside.length > 0 && turn.settings.approvalPolicy === 'never')
    throw new ToolFailure(
      `patch rejected: writing outside of the project; the approval policy is Never: ${outside.join(', ')}`,
    )
  const startedAtMs =
    outside.length > 0
      ? await askForChange(thread, turn, item, changes, outside, signal)
      : thread.beginItem(turn.id, item)
  signal.throwIfAborted()
  try {
    await commitPatch(changes)
  } catch (error) {
    thread.finishItem(turn.id, { ...item, status: 'failed' }, startedAtMs)
    if (error instanceof PatchError) throw new ToolFailure(error.message)
    throw error
  }
  thread.finishItem(turn.id, { ...item, status: 'completed' }, startedAtMs)
  turn.noteChanges(changes)
  thread.emit('turn/diff/updated', { threadId: thread.id, turnId: turn.id, diff: turn.diff.text })
  return { content: `Exit code: 0\nWall time: 0 seconds\nOutput:\n${describeChanges(changes, cwd)}`, success: true }
}

async function outsidePaths(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  changes: readonly PlannedChange[],
): Promise<string[]> {
  const roots = await thread.services.sandboxRoots(turn.settings)
  if (roots.writable === null) return []
  const granted = [...roots.writable, ...turn.grantedWriteRoots, ...thread.approvals.writeRoots]
  const touched = changes.flatMap((change) =>
    change.realMovedTo === null ? [change.realPath] : [change.realPath, change.realMovedTo],
  )
  return pathsOutside(touched, granted, roots.protected).filter((path) => !thread.approvals.files.has(path))
}

async function askForChange(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  item: FileChangeItem,
  changes: readonly PlannedChange[],
  outside: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  let startedAtMs = thread.services.nowMs()
  let words: string | undefined
  const decision = await thread
    .ask(
      'item/fileChange/requestApproval',
      {
        threadId: thread.id,
        turnId: turn.id,
        itemId: item.id,
        startedAtMs,
        reason: `writes outside the workspace: ${outside.join(', ')}`,
        grantRoot: null,
      },
      signal,
      'waitingOnApproval',
      { announce: () => (startedAtMs = thread.beginItem(turn.id, item)), subject: changeSubject(changes, outside) },
    )
    .then((answer) => {
      words = answer.words
      return answer.decision
    })
    .catch((error: unknown) => {
      signal.throwIfAborted()
      thread.finishItem(turn.id, { ...item, status: 'failed' }, startedAtMs)
      throw new ToolFailure(`patch rejected: approval could not be obtained: ${(error as Error).message}`)
    })
  if (decision === 'acceptForSession')
    for (const change of changes) thread.approvals.files.add(change.realMovedTo ?? change.realPath)
  if (decision === 'accept' || decision === 'acceptForSession') return startedAtMs
  thread.finishItem(turn.id, { ...item, status: 'declined' }, startedAtMs)
  if (decision === 'cancel') throw new TurnStop('cancelled by the user')
  throw new ToolFailure(words ? `patch rejected by user: ${words}` : 'patch rejected by user')
}

function changeSubject(changes: readonly PlannedChange[], outside: readonly string[]): Subject {
  return {
    kind: 'fileChange',
    changes: changes.map((change) => ({
      path: change.realPath,
      kind: change.kind,
      ...(change.realMovedTo === null ? {} : { movedTo: change.realMovedTo }),
      diff: change.diff,
      outsideRoots: outside.includes(change.realPath) || outside.includes(change.realMovedTo ?? change.realPath),
    })),
  }
}

function fileChange(change: PlannedChange): FileChange {
  if (change.kind === 'add' || change.kind === 'delete')
    return { path: change.path, kind: { type: change.kind }, diff: change.diff }
  return { path: change.path, kind: { type: 'update', move_path: change.movedTo }, diff: change.diff }
}
