/** `thread/*`: start, resume, fork, read, list and everything kept with a thread. */
import {
  array,
  boolean,
  integer,
  literal,
  object,
  optional,
  string,
  unknown,
  withDefault,
  type Decoder,
} from '../../../protocol/decode.ts'
import type { StoredItem } from '../../rollout/thread-pages.ts'
import { method, threadQueue, type Method } from '../method-table.ts'
import { settledTurns } from '../thread-view.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'
import { limitOf, ThreadLifecycle, type Loose } from './thread-lifecycle.ts'

/** All members, plus `threadId` checked. */
const withThread: Decoder<Loose & { threadId: string }> = (value, path) => ({
  ...(value as Loose),
  ...object({ threadId: string })(value, path),
})
/** An id, or the rollout file of a thread whose id the client does not know. */
const threadOrPath = ({ threadId, path }: Loose & { threadId: string }) => ({
  key: threadId === '' ? `path:${String(path)}` : `thread:${threadId}`,
  access: 'exclusive' as const,
})
/** A cursor of an earlier page, or an item of the turn. */
const itemsCursor: Decoder<string | { itemId: string } | undefined> = (value, path) =>
  typeof value === 'object' && value !== null
    ? object({ type: literal('item'), itemId: string })(value, path)
    : optional(string)(value, path)
const anyParams: Decoder<Loose> = (value, path) => ({ ...(value as Loose), ...object({})(value, path) })
const threadOnly = object({ threadId: string })
const page = { cursor: optional(string), limit: optional(integer(1)), sortDirection: optional(literal('asc', 'desc')) }

export function threadMethods(context: ServerContext): Record<string, Method> {
  const { threads, store } = context
  const lifecycle = new ThreadLifecycle(context)
  /** A thread and its child agents, on disk or not, the thread first. */
  const eachOfTree = async (threadId: string, work: (id: string) => Promise<void>): Promise<void> => {
    const below = await store.descendants(threadId)
    for (const id of [threadId, ...below]) await work(id)
  }
  return {
    'thread/start': method(anyParams, {
      experimentalFields: ['environments', 'dynamicTools', 'multiAgentMode', 'experimentalRawEvents'],
      run: (params, call) => lifecycle.start(params, call),
    }),
    'thread/resume': method(withThread, {
      experimentalFields: ['history', 'path'],
      queue: threadOrPath,
      run: (params, call) => lifecycle.resume(params, call),
    }),
    'thread/fork': method(withThread, {
      experimentalFields: ['path'],
      queue: threadOrPath,
      run: (params, call) => lifecycle.fork(params, call),
    }),
    'thread/read': method(object({ threadId: string, includeTurns: withDefault(boolean, false) }), {
      queue: threadQueue,
      run: async ({ threadId, includeTurns }) => {
        const stored = await lifecycle.stored(threadId)
        const turns = includeTurns ? await lifecycle.turnsOf(stored) : []
        return { thread: lifecycle.view(stored, turns), readState: context.readStates.of(threadId) }
      },
    }),
    'thread/list': method(
      object({
        ...page,
        sortKey: optional(literal('created_at', 'updated_at', 'recency_at', 'section_position')),
        modelProviders: optional(array(string)),
        sourceKinds: optional(array(string)),
        archived: optional(boolean),
        cwd: unknown,
        searchTerm: optional(string),
        originators: optional(array(string)),
        projectId: optional(string),
        parentThreadId: optional(string),
        ancestorThreadId: optional(string),
        sectionId: optional(string),
        includedThreadIds: optional(array(string)),
        excludedThreadIds: optional(array(string)),
      }),
      {
        run: (params) => lifecycle.list(params),
      },
    ),
    'thread/loaded/list': method(object({ cursor: optional(string), limit: optional(integer(1)) }), {
      run: ({ cursor, limit }) => {
        const ids = threads.ids().sort()
        const rest = cursor === undefined ? ids : ids.filter((id) => id > cursor)
        const data = limit === undefined ? rest : rest.slice(0, limit)
        return { data, nextCursor: data.length < rest.length ? data.at(-1)! : null }
      },
    }),
    'thread/turns/list': method(
      object({
        threadId: string,
        ...page,
        itemsView: withDefault(literal('notLoaded', 'summary', 'full'), 'summary' as const),
      }),
      {
        run: async (params) => {
          const stored = await lifecycle.listable(params.threadId, 'thread/turns/list')
          const request = {
            cursor: params.cursor ?? null,
            limit: limitOf(params.limit),
            descending: params.sortDirection !== 'asc',
          }
          const found = await store.pages.turns(stored, request, params.itemsView)
          return {
            ...found,
            data: settledTurns(found.data, threads.get(params.threadId)?.session.activeTurn?.id ?? null),
          }
        },
      },
    ),
    'thread/items/list': method(
      object({
        threadId: string,
        turnId: optional(string),
        ...page,
        cursor: itemsCursor,
        deferOutput: optional(
          object({ commandExecution: withDefault(boolean, false), mcpToolCall: withDefault(boolean, false) }),
        ),
      }),
      {
        run: async ({ threadId, turnId, cursor, limit, sortDirection, deferOutput }) => {
          const stored = await lifecycle.listable(threadId, 'thread/items/list')
          if (turnId === undefined && (deferOutput || typeof cursor === 'object'))
            throw invalidRequest('turnId: is needed with an item as cursor, and with deferOutput')
          const place =
            typeof cursor === 'object' ? await store.pages.itemCursor(stored, turnId!, cursor.itemId) : (cursor ?? null)
          if (typeof cursor === 'object' && place === null)
            throw invalidRequest(`cursor.itemId: the turn ${turnId} has no item ${cursor.itemId}`)
          const request = { cursor: place, limit: limitOf(limit), descending: sortDirection === 'desc' }
          const found = await store.pages.items(stored, request, turnId)
          return { ...found, data: found.data.map((entry) => entryView(entry, deferOutput)) }
        },
      },
    ),
    'gatehouse/thread/find': method(object({ threadId: string, term: string }), {
      run: async ({ threadId, term }) => {
        if (term.trim() === '') throw invalidRequest('term must not be empty')
        return store.pages.search(await lifecycle.listable(threadId, 'gatehouse/thread/find'), term.trim())
      },
    }),
    'thread/name/set': method(object({ threadId: string, name: string }), {
      queue: threadQueue,
      run: ({ threadId, name }, { after }) =>
        lifecycle.annotate(threadId, { type: 'thread_name_updated', thread_name: name }, (stored) => {
          stored.name = name
          after(() => context.emit('thread/name/updated', { threadId, threadName: name }))
        }),
    }),
    'thread/metadata/update': method(
      object({
        threadId: string,
        gitInfo: optional(object({ sha: optional(string), branch: optional(string), originUrl: optional(string) })),
        projectId: optional(string),
      }),
      {
        queue: threadQueue,
        run: async ({ threadId, gitInfo, projectId }) => {
          const git = gitInfo
            ? { sha: gitInfo.sha ?? null, branch: gitInfo.branch ?? null, originUrl: gitInfo.originUrl ?? null }
            : undefined
          const stored = await lifecycle.annotate(
            threadId,
            { type: 'thread_metadata_updated', git, project_id: projectId },
            (thread) => {
              if (git) thread.gitInfo = git
              if (projectId !== undefined) thread.projectId = projectId
            },
          )
          return { thread: lifecycle.view(stored, []) }
        },
      },
    ),
    'thread/archive': method(threadOnly, {
      queue: threadQueue,
      run: async ({ threadId }, { after }) => {
        await eachOfTree(threadId, async (id) => {
          await threads.unload(id)
          await store.setArchived(id, true)
          after(() => context.emit('thread/archived', { threadId: id }))
        })
        return {}
      },
    }),
    'thread/unarchive': method(threadOnly, {
      queue: threadQueue,
      run: async ({ threadId }, { after }) => {
        await eachOfTree(threadId, async (id) => {
          await store.setArchived(id, false)
          after(() => context.emit('thread/unarchived', { threadId: id }))
        })
        return { thread: lifecycle.view(await lifecycle.stored(threadId), []) }
      },
    }),
    'thread/delete': method(threadOnly, {
      queue: threadQueue,
      run: async ({ threadId }, { after }) => {
        await eachOfTree(threadId, async (id) => {
          await threads.unload(id)
          await store.delete(id)
          after(() => context.emit('thread/deleted', { threadId: id }))
        })
        return {}
      },
    }),
    'thread/unsubscribe': method(threadOnly, {
      queue: threadQueue,
      run: ({ threadId }, { connection }) => {
        if (!threads.get(threadId)) return { status: 'notLoaded' }
        return { status: context.unsubscribe(connection, threadId) ? 'unsubscribed' : 'notSubscribed' }
      },
    }),
    'thread/revert': method(object({ threadId: string, beforeTurnId: string }), {
      queue: threadQueue,
      run: (params, call) => lifecycle.revert(params, call),
    }),
    'thread/rollback': method(object({ threadId: string, numTurns: integer(1) }), {
      queue: threadQueue,
      run: ({ threadId, numTurns }) => lifecycle.rollback(threadId, numTurns),
    }),
  }
}

/** An item of a page; output that is fetched by itself is left out. */
function entryView(
  { turnId, item }: StoredItem,
  defer: { commandExecution: boolean; mcpToolCall: boolean } | undefined,
): Record<string, unknown> {
  const times = { startedAtMs: item.startedAtMs ?? null, completedAtMs: item.completedAtMs ?? null }
  const isLong =
    item.type === 'commandExecution'
      ? defer?.commandExecution && item.status === 'completed' && (item.aggregatedOutput ?? '') !== ''
      : item.type === 'mcpToolCall' && defer?.mcpToolCall && item.status === 'completed' && item.result !== null
  if (!isLong) return { turnId, item, ...times }
  const without = item.type === 'commandExecution' ? { aggregatedOutput: null } : { result: null }
  return { turnId, item: { ...item, ...without }, outputDeferred: true, ...times }
}
