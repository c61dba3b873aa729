/** Tools of configured MCP servers, as the engine sees them. */
export interface McpToolSpec {
  server: string
  /** Raw name on the server. */
  tool: string
  /** Cleaned, collision-free names for the model. */
  namespace: string
  name: string
  description: string
  inputSchema: unknown
  readOnly: boolean
  annotations: unknown
}
export interface McpCallResult {
  content: unknown[]
  structuredContent: unknown
  isError: boolean
  meta: unknown
}
export interface McpElicitation {
  server: string
  mode: string
  message: string
  params: Record<string, unknown>
}
export interface McpCallHooks {
  signal: AbortSignal
  onProgress(message: string): void
  /** Asks a person; anything but an explicit accept is a decline or cancel. */
  onElicitation(elicitation: McpElicitation): Promise<{ action: 'accept' | 'decline' | 'cancel'; content: unknown }>
}
export interface McpTools {
  /** Tools of servers that are ready; servers still starting get a short grace once per thread. */
  list(threadId: string): Promise<readonly McpToolSpec[]>
  call(threadId: string, spec: McpToolSpec, args: Record<string, unknown>, hooks: McpCallHooks): Promise<McpCallResult>
  /** Names of servers that are ready and have resources. */
  resourceServers(threadId: string): string[]
  /** All that a server has to read (of at most 64 pages), or the page of a cursor. Rejects with the server's error. */
  listResources(
    threadId: string,
    server: string,
    kind: 'resources' | 'resourceTemplates',
    cursor?: string,
  ): Promise<{ entries: unknown[]; nextCursor: string | null }>
  /** Rejects with the server's error. */
  readResource(threadId: string, server: string, uri: string): Promise<unknown[]>
  /** Stops the servers of a thread. */
  release(threadId: string): Promise<void>
}
