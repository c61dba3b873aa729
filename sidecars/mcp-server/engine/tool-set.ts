/** Which tools a request offers, and who runs them. */
import { AGENT_NAMESPACE, agentNamespace } from './agent-specs.ts'
import type { McpToolSpec } from './mcp-tools.ts'
import type { MultiAgentMode } from './thread-settings.ts'
import type { ModelInfo } from './services.ts'
import type { DynamicToolSpec, ThreadRuntime } from './thread-runtime.ts'
import type { ToolCall, ToolHandler } from './tool-call.ts'
import type { ToolRouter } from './tool-runtime.ts'
import { TOOL_SPECS } from './tool-specs.ts'
import { agentTools } from './tools/agent-tools.ts'
import { applyPatchTool } from './tools/apply-patch.ts'
import { dynamicTool } from './tools/dynamic-tool.ts'
import { execCommandTool } from './tools/exec-command.ts'
import { goalTools } from './tools/goal-tools.ts'
import { mcpResourceTools } from './tools/mcp-resources.ts'
import { mcpTool } from './tools/mcp-tool.ts'
import { requestPermissionsTool } from './tools/request-permissions.ts'
import { requestUserInputTool } from './tools/request-user-input.ts'
import { updatePlanTool } from './tools/update-plan.ts'
import { viewImageTool } from './tools/view-image.ts'
import { writeStdinTool } from './tools/write-stdin.ts'

export class ToolSet implements ToolRouter {
  private readonly own: ReadonlyMap<string, ToolHandler>
  private readonly mcp: ReadonlyMap<string, ToolHandler>
  private readonly dynamic: ReadonlyMap<string, ToolHandler>
  private readonly agents: ReadonlyMap<string, ToolHandler>
  /** The `tools` member of a request, as JSON text. */
  readonly specsText: string

  constructor(
    thread: ThreadRuntime,
    model: ModelInfo,
    mcpTools: readonly McpToolSpec[],
    /** Null where there are no child agents. */
    agentMode: MultiAgentMode | null,
  ) {
    const resourceServers = thread.services.mcp.resourceServers(thread.id)
    this.own = new Map<string, ToolHandler>([
      ['exec_command', execCommandTool(thread)],
      ['write_stdin', writeStdinTool(thread)],
      ['update_plan', updatePlanTool(thread)],
      ['request_user_input', requestUserInputTool(thread)],
      ['request_permissions', requestPermissionsTool(thread)],
      ['view_image', viewImageTool(thread)],
      ...goalTools(thread),
      ...(resourceServers.length > 0 ? mcpResourceTools(thread, resourceServers) : []),
      ...(model.applyPatch ? ([['apply_patch', applyPatchTool(thread)]] as const) : []),
    ])
    this.mcp = new Map(mcpTools.map((spec) => [key(spec.namespace, spec.name), mcpTool(thread, spec)]))
    this.dynamic = new Map(thread.dynamicTools.map((spec) => [key(spec.namespace, spec.name), dynamicTool(thread)]))
    this.agents = agentMode === null ? new Map() : agentTools(thread)
    const specs = [
      ...TOOL_SPECS.filter((spec) => this.own.has(spec.name)),
      ...(agentMode === null ? [] : [agentNamespace(agentMode)]),
      ...namespaces(mcpTools.map((spec) => ({ ...spec, description: spec.description }))),
      ...dynamicSpecs(thread.dynamicTools),
    ]
    this.specsText = JSON.stringify(specs)
  }

  handler(call: ToolCall): ToolHandler | null {
    const qualified = key(call.namespace, call.name)
    if (call.namespace === null && this.own.has(call.name)) return this.own.get(call.name)!
    if (call.namespace === AGENT_NAMESPACE && this.agents.has(call.name)) return this.agents.get(call.name)!
    return this.mcp.get(qualified) ?? this.dynamic.get(qualified) ?? null
  }
}

const key = (namespace: string | null, name: string): string => `${namespace ?? ''}\0${name}`

/** One namespace entry for each MCP server, its tools inside. */
function namespaces(tools: readonly McpToolSpec[]): unknown[] {
  const groups = new Map<string, McpToolSpec[]>()
  for (const tool of tools) groups.set(tool.namespace, [...(groups.get(tool.namespace) ?? []), tool])
  return [...groups].map(([name, members]) => ({
    type: 'namespace',
    name,
    description: `Tools of the MCP server ${members[0]!.server}.`,
    tools: members.map((tool) => functionSpec(tool.name, tool.description, tool.inputSchema)),
  }))
}

function dynamicSpecs(tools: readonly DynamicToolSpec[]): unknown[] {
  const plain = tools
    .filter((tool) => tool.namespace === null)
    .map((tool) => functionSpec(tool.name, tool.description, tool.inputSchema))
  const groups = new Map<string, DynamicToolSpec[]>()
  for (const tool of tools)
    if (tool.namespace !== null) groups.set(tool.namespace, [...(groups.get(tool.namespace) ?? []), tool])
  const grouped = [...groups].map(([name, members]) => ({
    type: 'namespace',
    name,
    description: `Tools of the client: ${name}.`,
    tools: members.map((tool) => functionSpec(tool.name, tool.description, tool.inputSchema)),
  }))
  return [...plain, ...grouped]
}

function functionSpec(name: string, description: string, schema: unknown): unknown {
  const object = (schema ?? {}) as Record<string, unknown>
  return {
    type: 'function',
    name,
    description,
    strict: false,
    parameters: { type: 'object', properties: {}, ...object },
  }
}
