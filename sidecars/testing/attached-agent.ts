import type { Client, ClientOptions } from '@modelcontextprotocol/client'
import { serveLines, type ServedLines } from '../mcp-server/attach/serve-lines.ts'
import { SessionRegistry } from '../mcp-server/sessions/session-registry.ts'
import { LocalExec } from './local-exec.ts'
import { connectLines, streamPair, type Era } from './mcp-line-client.ts'
import { RecordingHost } from './recording-host.ts'

/** A real SDK client attached to the real server in one process, with real child processes behind it. */
export interface AttachedAgent {
  client: Client
  exec: LocalExec
  host: RecordingHost
  served: ServedLines
  /** Problems the server reported. */
  problems: string[]
  call(name: string, args?: Record<string, unknown>): ReturnType<Client['callTool']>
  dispose(): Promise<void>
}

export async function attachAgent(era: Era, options: ClientOptions = {}): Promise<AttachedAgent> {
  const exec = new LocalExec()
  const host = new RecordingHost()
  const registry = new SessionRegistry(host, exec)
  const problems: string[] = []
  const { near, far } = streamPair()
  const served = serveLines(far.input, far.output, registry, { via: 'mcp-stdio', cwd: '/tmp' }, (m) => problems.push(m))
  const client = await connectLines(near.input, near.output, era, options)
  return {
    client,
    exec,
    host,
    served,
    problems,
    call: (name, args = {}) => client.callTool({ name, arguments: args }),
    async dispose() {
      await client.close()
      await served.ended
      await registry.dispose('the test is over')
      await exec.dispose()
    },
  }
}
