/** Plugins, skills, hooks and apps: there are none here. Lists are empty; what would change them says what to do instead. */
import { array, object, optional, string, unknown, withDefault } from '../../../protocol/decode.ts'
import { configQueue, method, type Method } from '../method-table.ts'
import { invalidRequest } from '../wire-error.ts'

const INSTEAD = 'plugins and skills are not run here; give sessions tools with an MCP server in [mcp_servers] instead'
const REFUSED = [
  'plugin/read',
  'plugin/install',
  'plugin/uninstall',
  'plugin/reconcile',
  'plugin/skill/read',
  'marketplace/add',
  'marketplace/remove',
  'marketplace/upgrade',
  'skills/config/write',
  'skills/extraRoots/set',
]

const folders = object({ cwds: withDefault(array(string), []) })
const none = (list: object) => method(unknown, { queue: configQueue('shared'), run: () => list })

export function pluginMethods(): Record<string, Method> {
  const refused = REFUSED.map((name): [string, Method] => [
    name,
    method(unknown, {
      queue: configQueue('exclusive'),
      run: () => {
        throw invalidRequest(`${name}: ${INSTEAD}`)
      },
    }),
  ])
  return {
    ...Object.fromEntries(refused),
    'plugin/installed': none({ marketplaces: [], marketplaceLoadErrors: [] }),
    'plugin/list': none({ marketplaces: [], marketplaceLoadErrors: [], featuredPluginIds: [] }),
    'plugin/search': method(object({ searchTerm: string, cursor: optional(string) }), {
      queue: configQueue('shared'),
      run: () => ({ data: [], nextCursor: null }),
    }),
    'app/list': method(unknown, { run: () => ({ data: [], nextCursor: null }) }),
    'skills/list': method(folders, {
      queue: configQueue('shared'),
      run: ({ cwds }) => ({ data: cwds.map((cwd) => ({ cwd, skills: [], errors: [] })) }),
    }),
    'hooks/list': method(folders, {
      queue: configQueue('exclusive'),
      run: ({ cwds }) => ({ data: cwds.map((cwd) => ({ cwd, hooks: [], warnings: [], errors: [] })) }),
    }),
  }
}
