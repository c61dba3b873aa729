/** `request_permissions`: asks for more than the sandbox gives; the person may grant less. */
import { resolve } from 'node:path'
import type { AdditionalPermissions } from '../../../protocol/app-server/server-requests.ts'
import { resolveTarget } from '../../patch/plan-patch.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolHandler } from '../tool-call.ts'
import { readText } from '../tool-arguments.ts'

export function requestPermissionsTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: false,
    run: async (call, turn, signal) => {
      const args = argumentsOf(call)
      const asked = (args.permissions ?? {}) as {
        network?: { enabled?: boolean }
        file_system?: { read?: string[]; write?: string[] }
      }
      const paths = (list: string[] | undefined): string[] =>
        (list ?? []).map((path) => resolve(turn.settings.cwd, path))
      const write = paths(asked.file_system?.write)
      const read = paths(asked.file_system?.read)
      if (write.length === 0 && read.length === 0 && asked.network?.enabled !== true)
        throw new ToolFailure('failed to parse function arguments: `permissions` asks for nothing')
      const permissions: AdditionalPermissions = {
        ...(asked.network?.enabled ? { network: { enabled: true } } : {}),
        ...(write.length + read.length > 0
          ? {
              fileSystem: {
                ...(read.length > 0 ? { read } : {}),
                ...(write.length > 0 ? { write } : {}),
                entries: [...read.map((path) => entry(path, 'read')), ...write.map((path) => entry(path, 'write'))],
              },
            }
          : {}),
      }
      const answer = await thread
        .ask(
          'item/permissions/requestApproval',
          {
            threadId: thread.id,
            turnId: turn.id,
            itemId: call.callId,
            environmentId: 'local',
            startedAtMs: thread.services.nowMs(),
            cwd: turn.settings.cwd,
            reason: readText(args, 'reason') ?? null,
            permissions,
          },
          signal,
          'waitingOnApproval',
          {
            subject: {
              kind: 'toolUse',
              toolName: 'request_permissions',
              input: { cwd: turn.settings.cwd, ...permissions },
            },
          },
        )
        .catch((error: unknown) => {
          signal.throwIfAborted()
          throw new ToolFailure(`the permissions were not granted: ${(error as Error).message}`)
        })
      const granted = await limitToAsked(answer.permissions, write, permissions.network?.enabled === true)
      const scope = answer.scope === 'session' ? 'session' : 'turn'
      if (scope === 'session') {
        for (const root of granted.write) thread.approvals.writeRoots.add(root)
        thread.approvals.network ||= granted.network
      } else {
        turn.grantedWriteRoots.push(...granted.write)
        turn.grantedNetwork ||= granted.network
      }
      const { words } = answer
      return {
        content: JSON.stringify({ permissions: answer.permissions ?? {}, scope, ...(words ? { message: words } : {}) }),
        success: true,
      }
    },
  }
}

const entry = (path: string, access: string) => ({ path: { type: 'path', path }, access })

/** A client may grant less than was asked, never more. */
async function limitToAsked(
  answer: AdditionalPermissions | undefined,
  asked: readonly string[],
  network: boolean,
): Promise<{ write: string[]; network: boolean }> {
  const named = new Set([
    ...(answer?.fileSystem?.write ?? []),
    ...(answer?.fileSystem?.entries ?? []).flatMap((e) =>
      e.access === 'write' ? [String((e.path as { path?: unknown }).path ?? e.path)] : [],
    ),
  ])
  const write = await Promise.all(asked.filter((path) => named.has(path)).map((path) => resolveTarget(path)))
  return { write, network: network && answer?.network?.enabled === true }
}
