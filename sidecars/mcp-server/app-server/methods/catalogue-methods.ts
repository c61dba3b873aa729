/** Smaller questions of clients: single items, summaries, a diff, resources, providers. */
import { array, object, optional, string, unknown } from '../../../protocol/decode.ts'
import { gitDiffToRemote } from '../../file-search/git-diff.ts'
import { BUILT_IN_PROVIDER_IDS, resolveProvider } from '../../model/provider.ts'
import type { StoredItem } from '../../rollout/thread-pages.ts'
import type { StoredThread } from '../../rollout/stored-thread.ts'
import type { ConfigTable } from '../config-file.ts'
import { configQueue, method, type Method } from '../method-table.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'
import { ThreadLifecycle } from './thread-lifecycle.ts'

const MAX_ITEM_IDS = 100
const PAGE = 100

export function catalogueMethods(context: ServerContext): Record<string, Method> {
  const lifecycle = new ThreadLifecycle(context)
  return {
    'thread/items/read': method(object({ threadId: string, turnId: string, itemIds: array(string) }), {
      experimental: true,
      run: async ({ threadId, turnId, itemIds }) => {
        if (itemIds.length === 0 || itemIds.length > MAX_ITEM_IDS)
          throw invalidRequest(`itemIds: expected 1 to ${MAX_ITEM_IDS} ids, got ${itemIds.length}`)
        const stored = await lifecycle.listable(threadId, 'thread/items/read')
        const wanted = new Set(itemIds)
        const found: StoredItem[] = []
        for (let cursor: string | null = null; ;) {
          const page = await context.store.pages.items(stored, { cursor, limit: PAGE, descending: false }, turnId)
          found.push(...page.data.filter(({ item }) => wanted.has(item.id)))
          if (page.nextCursor === null || found.length === wanted.size) break
          cursor = page.nextCursor
        }
        return {
          data: found.map((entry) => ({
            ...entry,
            startedAtMs: entry.item.startedAtMs ?? null,
            completedAtMs: entry.item.completedAtMs ?? null,
          })),
        }
      },
    }),
    getConversationSummary: method(object({ conversationId: optional(string), rolloutPath: optional(string) }), {
      run: async ({ conversationId, rolloutPath }) => {
        if (conversationId === undefined && rolloutPath === undefined)
          throw invalidRequest('Invalid request: missing field `conversationId`')
        const stored =
          conversationId === undefined
            ? (await context.store.findByPath(rolloutPath!))?.thread
            : await lifecycle.stored(conversationId)
        if (!stored) throw invalidRequest(`no conversation found at ${rolloutPath}`)
        return { summary: summaryOf(stored) }
      },
    }),
    gitDiffToRemote: method(object({ cwd: string }), {
      run: async ({ cwd }) => {
        try {
          return await gitDiffToRemote(cwd)
        } catch (error) {
          throw invalidRequest(`failed to compute git diff to remote for cwd: "${cwd}": ${(error as Error).message}`)
        }
      },
    }),
    'mcpServer/resource/read': method(object({ threadId: string, server: string, uri: string }), {
      run: async ({ threadId, server, uri }) => {
        try {
          return { contents: await context.mcp.readResource(threadId, server, uri), originCallId: null }
        } catch (error) {
          throw invalidRequest(`resources of MCP server ${server}: ${(error as Error).message}`)
        }
      },
    }),
    'modelProvider/list': method(unknown, {
      run: async () => {
        const { config } = await context.configFile.load()
        const table = (config.model_providers as ConfigTable | undefined) ?? {}
        return {
          data: [...new Set([...BUILT_IN_PROVIDER_IDS, ...Object.keys(table)])].map((id) =>
            summaryOfProvider(id, table),
          ),
          defaultProviderId: typeof config.model_provider === 'string' ? config.model_provider : 'openai',
          canChangeDefault: true,
        }
      },
    }),
    'modelProvider/default/set': method(object({ providerId: string }), {
      queue: configQueue('exclusive'),
      run: async ({ providerId }) => {
        const { config } = await context.configFile.load()
        resolveProvider(providerId, (config.model_providers as ConfigTable | undefined) ?? {})
        await context.configFile.write([{ keyPath: 'model_provider', value: providerId, upsert: false }], null)
        return {}
      },
    }),
    // Tools that a provider runs itself are not offered to models here.
    'modelProvider/capabilities/read': method(unknown, { run: () => ({ imageGeneration: false, webSearch: false }) }),
    'account/logout': method(unknown, { run: () => ({}) }),
    'account/login/start': method(unknown, {
      run: () => {
        throw invalidRequest(
          'no login is needed here; a provider takes its key from the keychain or a variable (env_key)',
        )
      },
    }),
  }
}

function summaryOfProvider(id: string, table: ConfigTable): object {
  const common = { id, canEdit: Object.hasOwn(table, id), settings: { type: 'openai' } }
  try {
    const { name, base_url } = resolveProvider(id, table)
    return { ...common, name, baseUrl: base_url }
  } catch {
    // It cannot be used as it is, and is listed so that it can be corrected.
    return { ...common, name: id, baseUrl: null }
  }
}

const summaryOf = (stored: StoredThread): object => ({
  conversationId: stored.id,
  path: stored.path,
  preview: stored.preview,
  timestamp: new Date(stored.createdAtMs).toISOString(),
  updatedAt: new Date(stored.updatedAtMs).toISOString(),
  modelProvider: stored.modelProvider,
  cwd: stored.cwd,
  cliVersion: stored.cliVersion,
  source: stored.source,
  gitInfo: stored.gitInfo && {
    sha: stored.gitInfo.sha,
    branch: stored.gitInfo.branch,
    origin_url: stored.gitInfo.originUrl,
  },
})
