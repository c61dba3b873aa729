/** `initialize` and the account question that every client asks. */
import { arch, platform, release } from 'node:os'
import { object, optional, string, unknown } from '../../../protocol/decode.ts'
import { method, type Method } from '../method-table.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'

export function handshakeMethods(context: ServerContext): Record<string, Method> {
  return {
    initialize: method(
      object({
        clientInfo: object({ name: string, title: optional(string), version: string }),
        capabilities: unknown,
      }),
      {
        run: ({ clientInfo, capabilities }, { connection, after }) => {
          if (connection.initialized) throw invalidRequest('Already initialized')
          connection.initialize(
            { ...clientInfo, title: clientInfo.title ?? null },
            capabilities as Record<string, unknown> | null,
          )
          after(() => void announceProblems(context, (m, p) => connection.notify(m, p)))
          return {
            userAgent: `${clientInfo.name}/${context.version} (${platform()} ${release()}; ${arch()}) gatehouse (${clientInfo.name}; ${clientInfo.version})`,
            codexHome: context.home,
            platformFamily: platform() === 'win32' ? 'windows' : 'unix',
            platformOs: platform() === 'darwin' ? 'macos' : platform() === 'win32' ? 'windows' : 'linux',
          }
        },
      },
    ),
    'account/read': method(unknown, {
      run: () => ({ account: null, userId: null, requiresOpenaiAuth: false, workspaceRouting: null }),
    }),
    'account/rateLimits/read': method(unknown, {
      run: () => ({ rateLimits: null, rateLimitsByLimitId: null }),
    }),
    getAuthStatus: method(unknown, {
      run: () => ({ authMethod: null, authToken: null, requiresOpenaiAuth: false }),
    }),
  }
}

/** A configuration file that cannot be read is told at once; the server works on without it. */
async function announceProblems(
  context: ServerContext,
  notify: (method: string, params: unknown) => void,
): Promise<void> {
  const { problems } = await context.configFile.load()
  for (const { path, message } of problems)
    notify('configWarning', {
      summary: `${path} cannot be read; its settings are not in force`,
      details: message,
      path,
    })
}
