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
      const { approvalPolicy } = turn.settings
      if (approvalPolicy === 'never')
        throw new ToolFailure('the approval policy is Never; permissions cannot be requested')
      if (typeof approvalPolicy === 'object' && !approvalPolicy.granular.request_permissions)
        throw new ToolFailure('the approval policy of this thread does not let permissions be requested')
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
      const given = limitToAsked(answer.permissions ?? {}, permissions)
      const granted = await grantsOf(given)
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
        content: JSON.stringify({ permissions: given, scope, ...(words ? { message: words } : {}) }),
        success: true,
      }
    },
  }
}

const entry = (path: string, access: string) => ({ path: { type: 'path', path }, access })

/** A client may grant less than was asked, never more. */
function limitToAsked(given: AdditionalPermissions, asked: AdditionalPermissions): AdditionalPermissions {
  const files = asked.fileSystem
  const { fileSystem } = given
  const among = (paths: string[] | undefined, wanted: string[] | undefined): string[] =>
    (paths ?? []).filter((path) => wanted?.includes(path))
  const write = among(fileSystem?.write, files?.write)
  const read = among(fileSystem?.read, files?.read)
  const entries = (fileSystem?.entries ?? []).filter(
    (e) => (e.access === 'write' ? files?.write : files?.read)?.includes(pathOf(e)) === true,
  )
  return {
    ...(asked.network?.enabled && given.network?.enabled ? { network: { enabled: true } } : {}),
    ...(write.length + read.length + entries.length > 0
      ? {
          fileSystem: {
            ...(read.length > 0 && { read }),
            ...(write.length > 0 && { write }),
            ...(entries.length > 0 && { entries }),
          },
        }
      : {}),
  }
}

const pathOf = ({ path }: { path: unknown }): string => String((path as { path?: unknown } | null)?.path ?? path)

async function grantsOf({
  fileSystem,
  network,
}: AdditionalPermissions): Promise<{ write: string[]; network: boolean }> {
  const entries = (fileSystem?.entries ?? []).filter(({ access }) => access === 'write').map(pathOf)
  const paths = [...new Set([...(fileSystem?.write ?? []), ...entries])]
  return { write: await Promise.all(paths.map((path) => resolveTarget(path))), network: network?.enabled === true }
}
