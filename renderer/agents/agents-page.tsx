/** Agents: what was found on this machine, how each is connected, and how to connect it. */
import { useMemo, type ReactNode } from 'react'
import type { AgentView, SessionView } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { Chip } from '../components/chip.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { Monogram } from '../components/monogram.tsx'
import { PageBody, PageHead } from '../components/page.tsx'
import { place, placeHref } from '../components/places.ts'
import { countOf } from '../components/quantities.ts'
import { ErrorNote, SkeletonRows } from '../components/states.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import { selectSessions } from '../sessions/selectors.ts'
import { AgentPostures } from './agent-postures.tsx'
import { CommandToCopy } from './command-to-copy.tsx'
import { selectCommandLine, useAgents } from './use-agents.ts'
import './agents-page.css'

export function AgentsPage(): ReactNode {
  const { agents, failure, refresh } = useAgents()
  const found = agents?.filter((agent) => agent.path !== null) ?? []
  const missing = agents?.filter((agent) => agent.path === null) ?? []
  return (
    <>
      <PageHead title="Agents" meta={agents ? `${found.length} found` : undefined}>
        <Button onClick={refresh}>Look again</Button>
      </PageHead>
      <PageBody>
        {failure && <ErrorNote message={`The agents on this machine could not be listed. ${failure}`} />}
        {agents === null && !failure && <SkeletonRows label="Looking for agents" />}
        {found.map((agent) => (
          <AgentCard key={agent.name} agent={agent} />
        ))}
        {missing.length > 0 && (
          <section className="agents-missing">
            <h2>Not found on PATH</h2>
            {missing.map((agent) => (
              <details key={agent.name}>
                <summary>{agent.name}</summary>
                <CommandToCopy text={agent.howTo} name={`Connect ${agent.name}`} />
              </details>
            ))}
          </section>
        )}
        <AgentPostures />
        <OtherWays />
      </PageBody>
    </>
  )
}

function AgentCard({ agent }: { agent: AgentView }): ReactNode {
  const home = useFeed(selectHome)
  const sessions = useSessionsOf(agent.name)
  const isConnected = agent.connected.length > 0
  return (
    <section className="agent-card" aria-label={agent.name}>
      <header>
        <Monogram name={agent.name} />
        <h2>
          {agent.name} {agent.version && <span className="meta">{agent.version}</span>}
        </h2>
        {isConnected ? (
          <Chip tone="allow" icon="check">
            connected by {agent.connected.join(', ')}
          </Chip>
        ) : (
          <Chip>not connected</Chip>
        )}
      </header>
      {agent.path && (
        <p className="meta">
          <VisibleText code text={shortenPath(agent.path, home)} />
        </p>
      )}
      {sessions.length > 0 && (
        <p>
          <a className="link" href={placeHref(place('sessions', sessions[0]?.id ?? null))}>
            {countOf(sessions.length, 'open session')}
          </a>
        </p>
      )}
      <p className="dim">{isConnected ? 'To connect it again:' : 'To connect it:'}</p>
      <CommandToCopy text={agent.howTo} name={`Connect ${agent.name}`} />
    </section>
  )
}

/** Agents name themselves in their own ways ("claude-code", "Claude Code"): compared without case and punctuation. */
function useSessionsOf(agentName: string): readonly SessionView[] {
  const sessions = useFeed(selectSessions)
  return useMemo(() => {
    const key = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
    return sessions.filter(
      (session) => session.closedAtMs === null && key(session.agentName).startsWith(key(agentName)),
    )
  }, [agentName, sessions])
}

/** Ways that need no agent of a known name. */
function OtherWays(): ReactNode {
  const endpoints = useFeed((state) => state.tables.sidecars)
  const gatehouse = useFeed(selectCommandLine)
  const address = (name: 'exec-server' | 'mcp-server' | 'network-proxy', transport: string): string | null =>
    endpoints.rows.get(name)?.endpoints[transport] ?? null
  const mcpHttp = address('mcp-server', 'http')
  const execWs = address('exec-server', 'ws')
  return (
    <section className="other-ways" aria-label="Any other agent">
      <h2>Any other agent</h2>
      <p>As an MCP server on standard input and output:</p>
      <CommandToCopy text={`${gatehouse} mcp`} name="MCP server command" />
      {mcpHttp && (
        <>
          <p>As an MCP server over HTTP, with the agent token from run/host.json as bearer token:</p>
          <CommandToCopy text={mcpHttp} name="MCP server address" />
        </>
      )}
      {execWs && (
        <>
          <p>As the exec server of the Codex CLI:</p>
          <CommandToCopy text={execWs} name="Exec server address" />
        </>
      )}
      <p>A command of your own, under the same rules:</p>
      <CommandToCopy text={`${gatehouse} run -- npm test`} name="Run a command under Gatehouse" />
      <p>The proxy variables for this terminal:</p>
      <CommandToCopy text={`eval "$(${gatehouse} env)"`} name="Proxy variables for a terminal" />
    </section>
  )
}
