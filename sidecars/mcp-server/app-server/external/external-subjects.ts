/** Questions of an app server that is not ours, as subjects: exactly what it says it would do. */
import type { FileChange } from '../../../protocol/app-server/thread-item.ts'
import type { ServerRequestMap, ServerRequestMethod } from '../../../protocol/app-server/server-requests.ts'
import type { Subject } from '../../../protocol/subject.ts'
import { splitWords } from './split-words.ts'

type Params<M extends ServerRequestMethod> = ServerRequestMap[M]['params']

/** What is known here of the thread that asks. */
export interface AskingThread {
  cwd: string
  /** Changes of a file change item that was announced; undefined when it was not heard. */
  changesOf(itemId: string): readonly FileChange[] | undefined
}

/** Undefined where the question has a subject of its own (questions and forms) or is not for the owner. */
export function subjectOf(method: ServerRequestMethod, params: object, thread: AskingThread): Subject | undefined {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return commandSubject(params as Params<typeof method>, thread)
    case 'item/fileChange/requestApproval':
      return changeSubject(params as Params<typeof method>, thread)
    case 'item/permissions/requestApproval': {
      const { cwd, permissions } = params as Params<typeof method>
      return { kind: 'toolUse', toolName: 'request_permissions', input: { cwd, ...permissions } }
    }
    case 'mcpServer/elicitation/request': {
      const { serverName, _meta } = params as Params<typeof method>
      const meta = _meta as { codex_approval_kind?: unknown; tool_name?: unknown; tool_params?: unknown } | null
      return meta?.codex_approval_kind === 'mcp_tool_call'
        ? { kind: 'toolUse', toolName: `${serverName}/${String(meta.tool_name)}`, input: meta.tool_params ?? {} }
        : undefined
    }
    default:
      return undefined
  }
}

const PORTS = { http: 80, https: 443, socks5Tcp: 0, socks5Udp: 0 } as const

function commandSubject(params: Params<'item/commandExecution/requestApproval'>, { cwd }: AskingThread): Subject {
  const { networkApprovalContext: network, command } = params
  if (network)
    return { kind: 'connection', host: network.host, port: PORTS[network.protocol], protocol: network.protocol }
  const argv = command === undefined ? null : splitWords(command)
  // What cannot be taken apart for certain is shown as it came.
  if (argv === null) return { kind: 'toolUse', toolName: params.kind, input: shownParams(params) }
  return {
    kind: 'command',
    argv,
    cwd: params.cwd ?? cwd,
    envChanges: {},
    tty: false,
    stdin: 'none',
    // Nobody here can tell what walls it would have, so none are promised.
    sandbox: 'none',
  }
}

function changeSubject(params: Params<'item/fileChange/requestApproval'>, thread: AskingThread): Subject {
  const changes = params.grantRoot ? undefined : thread.changesOf(params.itemId)
  if (!changes || changes.length === 0) return { kind: 'toolUse', toolName: 'apply_patch', input: shownParams(params) }
  const inside = `${thread.cwd.replace(/\/$/, '')}/`
  return {
    kind: 'fileChange',
    changes: changes.map(({ path, kind, diff }) => {
      const movedTo = kind.type === 'update' ? (kind.move_path ?? undefined) : undefined
      return {
        path,
        kind: movedTo === undefined ? kind.type : 'move',
        ...(movedTo !== undefined && { movedTo }),
        diff,
        outsideRoots: !path.startsWith(inside) || (movedTo !== undefined && !movedTo.startsWith(inside)),
      }
    }),
  }
}

/** Without the ids, which tell a person nothing. */
function shownParams(params: object): object {
  const { threadId: _t, turnId: _u, itemId: _i, startedAtMs: _s, ...shown } = params as Record<string, unknown>
  return shown
}
