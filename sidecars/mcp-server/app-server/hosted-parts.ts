/** What the app server is made of under a host. Loaded with its first use. */
import type { CommandStarter } from '../engine/services.ts'
import type { PeerHostLink } from '../sessions/host-link.ts'
import { SystemSecrets } from '../model/provider-secrets.ts'
import { AgentThreads } from './agent-threads.ts'
import { startTracing, type Tracing } from '../tracing/start-tracing.ts'
import { AppServer } from './app-server.ts'
import { HostApprovals } from './host-approvals.ts'
import { HostClient } from './host-client.ts'
import { loginShell } from './login-shell.ts'
import { HomeRules } from './home-rules.ts'
import { sandboxObjectOf, sandboxRootsOf } from './sandbox-policy.ts'
import { sessionCommands } from './session-commands.ts'
import { OpenItems } from './open-items.ts'
import { ThreadSessions } from './thread-sessions.ts'

export interface HostedOptions {
  /** Sessions, their index and config.toml are kept here. */
  home: string
  exec: CommandStarter
  host: PeerHostLink
  /** Takes news of the threads that the host's own client works with. */
  send: (method: string, params: Record<string, unknown>) => void
  log: (message: string) => void
}

export interface HostedParts {
  server: AppServer
  client: HostClient
  agents: AgentThreads
  /** Which threads are open here. */
  sessions: Pick<ThreadSessions, 'has'>
  /** Null when nothing asks for traces. */
  tracing: Tracing | null
}

export async function createHostedParts({ home, exec, host, send, log }: HostedOptions): Promise<HostedParts> {
  const tracing = await startTracing(process.env, log)
  const commands = sessionCommands(exec, host)
  const sessions = new ThreadSessions(host)
  const open = new OpenItems()
  const server = new AppServer({
    home,
    exec: () => commands,
    rules: new HomeRules({ home, onProblem: log }),
    sandboxObject: sandboxObjectOf,
    sandboxRoots: sandboxRootsOf,
    shell: loginShell(),
    log,
    // The owner's shell is the host's to ask.
    secrets: new SystemSecrets((name) => host.variable(name)),
    ...(tracing && { trace: tracing.trace }),
    askAlso: (clients) => new HostApprovals(clients, host),
    watch: {
      loaded: (thread) => sessions.loaded(thread),
      unloaded: (threadId) => sessions.unloaded(threadId),
      notified: (method, params) => {
        sessions.notified(method, params)
        open.notified(method, params)
      },
    },
  })
  return { server, client: new HostClient(server, open, send), agents: new AgentThreads(server), sessions, tracing }
}
