/** Nothing was ever connected: three steps, with the commands. */
import type { ReactNode } from 'react'
import { selectCommandLine, useAgents } from '../agents/use-agents.ts'
import { CommandToCopy } from '../agents/command-to-copy.tsx'
import { place, placeHref } from '../components/places.ts'
import { useFeed } from '../feed/feed-context.tsx'
import './first-run.css'

const AGENTS_SHOWN = 3

export function FirstRun(): ReactNode {
  const { agents } = useAgents()
  const gatehouse = useFeed(selectCommandLine)
  const found = agents?.filter((agent) => agent.path !== null) ?? []
  return (
    <div className="first-run">
      <h2>Nothing waits for you.</h2>
      <p className="dim">Connect an agent, and each command it wants to run is shown here before it runs.</p>
      <ol>
        <li>
          <h3>Connect your agent</h3>
          {found.length === 0 ? (
            <>
              <p>
                Add this as an MCP server in your agent’s settings. Gatehouse answers on its standard input and output.
              </p>
              <CommandToCopy text={`${gatehouse} mcp`} name="MCP server command" />
            </>
          ) : (
            found.slice(0, AGENTS_SHOWN).map((agent) => (
              <div key={agent.name}>
                <p>{agent.name}</p>
                <CommandToCopy text={agent.howTo} name={`Connect ${agent.name}`} />
              </div>
            ))
          )}
          <p>
            <a className="link" href={placeHref(place('agents'))}>
              All agents and ways to connect them
            </a>
          </p>
        </li>
        <li>
          <h3>Or run a command under Gatehouse yourself</h3>
          <CommandToCopy text={`${gatehouse} run -- npm test`} name="Run a command under Gatehouse" />
        </li>
        <li>
          <h3>Answer here</h3>
          <p>
            Requests appear in this Inbox, with what they would do. Allow once, for the session, or write a rule.
            Anything you do not answer does not run.
          </p>
        </li>
      </ol>
    </div>
  )
}
