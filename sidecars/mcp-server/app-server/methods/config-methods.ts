/** `config/*`, models, and what a client may choose from. */
import {
  array,
  boolean,
  literal,
  nullable,
  object,
  optional,
  string,
  unknown,
  withDefault,
} from '../../../protocol/decode.ts'
import { listModels } from '../../model/list-models.ts'
import { modelEntries } from '../../model/model-catalogue.ts'
import type { ConfigTable } from '../config-file.ts'
import { configQueue, method, type Method } from '../method-table.ts'
import { DEFAULT_MODEL, PROFILE_IDS } from '../thread-settings-source.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'

const strategy = withDefault(literal('replace', 'upsert'), 'replace' as const)

export function configMethods(context: ServerContext): Record<string, Method> {
  const write = async (
    edits: { keyPath: string; value?: unknown; mergeStrategy: 'replace' | 'upsert' }[],
    expectedVersion: string | undefined,
  ) => {
    const changes = edits.map(({ keyPath, value, mergeStrategy }) => ({
      keyPath,
      value: value ?? null,
      upsert: mergeStrategy === 'upsert',
    }))
    const { version } = await context.configFile.write(changes, expectedVersion ?? null)
    return { status: 'ok', version, filePath: context.configFile.path, overriddenMetadata: null }
  }
  return {
    'config/read': method(object({ includeLayers: withDefault(boolean, false), cwd: optional(string) }), {
      queue: configQueue('shared'),
      run: async ({ includeLayers }) => {
        const { config, layers } = await context.configFile.load()
        return {
          config: { model: DEFAULT_MODEL, ...config },
          origins: originsOf(layers),
          layers: includeLayers ? layers : null,
        }
      },
    }),
    'config/value/write': method(
      object({ keyPath: string, value: unknown, mergeStrategy: strategy, expectedVersion: optional(string) }),
      {
        queue: configQueue('exclusive'),
        run: ({ expectedVersion, ...edit }) => write([edit], expectedVersion),
      },
    ),
    'config/batchWrite': method(
      object({
        edits: array(object({ keyPath: string, value: unknown, mergeStrategy: strategy })),
        expectedVersion: optional(string),
        /** Threads that are loaded take it over, too; what their clients asked for stays on top. */
        reloadUserConfig: withDefault(boolean, false),
      }),
      {
        queue: configQueue('exclusive'),
        run: async ({ edits, expectedVersion, reloadUserConfig }) => {
          const written = await write(edits, expectedVersion)
          if (reloadUserConfig) {
            const { config } = await context.configFile.load()
            for (const { liveConfig } of context.threads.all()) liveConfig.reload(config)
          }
          return written
        },
      },
    ),
    'configRequirements/read': method(unknown, {
      queue: configQueue('shared'),
      run: () => ({ requirements: null }),
    }),
    'model/list': method(object({ includeHidden: withDefault(boolean, false) }), {
      run: async () => {
        const { config } = await context.configFile.load()
        const chosen = typeof config.model === 'string' ? config.model : DEFAULT_MODEL
        return { data: modelEntries(chosen), nextCursor: null }
      },
    }),
    'gatehouse/provider/check': method(object({ baseUrl: string, envKey: optional(string), key: optional(string) }), {
      run: async ({ baseUrl, envKey, key }) => {
        try {
          const from = { baseUrl, ...(envKey && { envKey }), ...(key && { key }) }
          return { models: await listModels(from, context.secrets) }
        } catch (error) {
          throw invalidRequest((error as Error).message)
        }
      },
    }),
    'gatehouse/provider/key/set': method(object({ providerId: string, key: nullable(string) }), {
      queue: configQueue('exclusive'),
      run: async ({ providerId, key }) => {
        if (providerId === '') throw invalidRequest('providerId must not be empty')
        if (key?.trim() === '') throw invalidRequest('key must not be empty')
        await context.secrets.keep(providerId, key?.trim() ?? null)
        return {}
      },
    }),
    'collaborationMode/list': method(unknown, {
      experimental: true,
      run: () => ({
        data: [
          { name: 'Plan', mode: 'plan', model: null, reasoning_effort: 'medium', developer_instructions: null },
          { name: 'Default', mode: 'default', model: null, reasoning_effort: null, developer_instructions: null },
        ],
      }),
    }),
    'config/mcpServer/reload': method(unknown, {
      queue: configQueue('exclusive'),
      run: async () => {
        context.mcp.reload((await context.configFile.load()).config)
        return {}
      },
    }),
    'mcpServerStatus/list': method(object({ threadId: optional(string) }), {
      run: async ({ threadId }) => {
        if (threadId === undefined) context.mcp.prepare('', (await context.configFile.load()).config)
        return { data: await context.mcp.status(threadId ?? ''), nextCursor: null }
      },
    }),
    'permissionProfile/list': method(unknown, {
      queue: configQueue('shared'),
      run: () => ({
        data: PROFILE_IDS.map((id) => ({ id, description: null })),
        nextCursor: null,
      }),
    }),
    'experimentalFeature/list': method(unknown, {
      queue: configQueue('exclusive'),
      run: () => ({ data: [], nextCursor: null }),
    }),
    'account/bedrock/checkGovCloudRequirements': method(unknown, { run: () => ({ required: false }) }),
    'thread/readState/update': method(
      object({
        threadId: string,
        operation: object({ type: literal('read', 'unread'), turnId: optional(string) }),
        expectedRevision: optional(string),
      }),
      {
        experimental: true,
        run: ({ threadId, operation, expectedRevision }, { after }) => {
          const readState = context.readStates.update(threadId, operation, expectedRevision ?? null)
          after(() => context.emit('thread/readState/changed', { threadId, readState }))
          return { readState }
        },
      },
    ),
  }
}

/** Which layer each key came from: the highest that has it. */
function originsOf(
  layers: readonly { name: unknown; version: string; config: ConfigTable }[],
): Record<string, unknown> {
  const origins: Record<string, unknown> = {}
  for (const layer of layers)
    for (const key of leafKeys(layer.config)) origins[key] ??= { name: layer.name, version: layer.version }
  return origins
}

function leafKeys(table: ConfigTable, prefix = ''): string[] {
  return Object.entries(table).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
      ? leafKeys(value as ConfigTable, `${prefix}${key}.`)
      : [prefix + key],
  )
}
