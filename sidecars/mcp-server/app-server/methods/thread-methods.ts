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
      queue: (params) => ({ key: `thread:${params.threadId}`, access: 'exclusive' }),
      run: (params, call) => lifecycle.resume(params, call),
    }),
    'thread/fork': method(withThread, {
      queue: threadQueue,
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
    'thread/loaded/list': method(unknown, { run: () => ({ data: threads.ids(), nextCursor: null }) }),
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
          const found = await store.turns(stored, request, params.itemsView)
          return {
            ...found,
            data: settledTurns(found.data, threads.get(params.threadId)?.session.activeTurn?.id ?? null),
          }
        },
      },
    ),
    'thread/items/list': method(object({ threadId: string, turnId: optional(string), ...page }), {
      run: async (params) => {
        const stored = await lifecycle.listable(params.threadId, 'thread/items/list')
        const request = {
          cursor: params.cursor ?? null,
          limit: limitOf(params.limit),
          descending: params.sortDirection !== 'asc',
        }
        const found = await store.items(stored, request, params.turnId)
        return {
          ...found,
          data: found.data.map((entry) => ({
            ...entry,
            startedAtMs: entry.item.startedAtMs ?? null,
            completedAtMs: entry.item.completedAtMs ?? null,
          })),
        }
      },
    }),
    'gatehouse/thread/find': method(object({ threadId: string, term: string }), {
      run: async ({ threadId, term }) => {
        if (term.trim() === '') throw invalidRequest('term must not be empty')
        return store.searchItems(await lifecycle.listable(threadId, 'gatehouse/thread/find'), term.trim())
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
