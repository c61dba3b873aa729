import { type Command, readArguments } from './command.ts'

export const mcp: Command = {
  name: 'mcp',
  summary: 'Be an MCP server on stdio for an agent (relays to the running host).',
  help: `Usage: gatehouse mcp

Give this command to an agent as an MCP server, for example:
  claude mcp add gatehouse -- gatehouse mcp
When no host runs, a headless one is started.`,
  run: async (argv) => {
    readArguments(argv, {})
    const { runMcpRelay } = await import('./mcp-relay.ts')
    return runMcpRelay()
  },
}
