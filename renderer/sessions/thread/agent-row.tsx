/** What the session did with one of its agents: started, told, waited for or ended it, and the way to its own session. */
import type { ReactNode } from 'react'
import { Chip } from '../../components/chip.tsx'
import { place, placeHref } from '../../components/places.ts'
import { VisibleText } from '../../components/visible-text.tsx'
import { sessionOfThread } from '../../../sidecars/protocol/ids.ts'
import type { ThreadItem } from '../../../sidecars/protocol/owner-threads.ts'
import { Folded, Lines } from './folded.tsx'

type AgentItem = Extract<ThreadItem, { type: 'collabAgentToolCall' }>

const ACT_WORDS: Record<AgentItem['tool'], string> = {
  spawnAgent: 'Started an agent',
  sendInput: 'Told its agent',
  wait: 'Waited for its agent',
  closeAgent: 'Ended its agent',
  resumeAgent: 'Opened its agent again',
  sendMessage: 'Wrote to its agent',
  followupTask: 'Gave its agent more to do',
  interruptAgent: 'Interrupted its agent',
  listAgents: 'Looked at its agents',
}
const STATE_WORDS: Record<AgentItem['agentsStates'][string]['status'], string> = {
  pendingInit: 'starting',
  running: 'working',
  interrupted: 'interrupted',
  completed: 'done',
  errored: 'failed',
  shutdown: 'ended',
  notFound: 'not there',
}

export function AgentRow({ item, isOpen }: { item: AgentItem; isOpen: boolean }): ReactNode {
  const { receiverThreadIds: ids, agentsStates: states, prompt } = item
  const isPast = !isOpen && item.status !== 'inProgress'
  return (
    <div className="agent-row">
      <Folded
        summary={
          <>
            <span className="truncate">
              <span className="dim">{ACT_WORDS[item.tool]}</span>
              {prompt !== null && <VisibleText text={`: ${prompt.replaceAll(/\s*\n\s*/g, ' ')}`} />}
            </span>
            {!isPast && <Chip>waiting</Chip>}
            {item.status === 'failed' && <Chip tone="deny">failed</Chip>}
            {item.status === 'interrupted' && <Chip>interrupted</Chip>}
          </>
        }
      >
        {prompt !== null && <Lines text={prompt} />}
        {Object.entries(states)
          .filter(([, { status }]) => status !== 'pendingInit')
          .map(([id, { status, message }]) => (
            <div key={id}>
              <p className="meta">{STATE_WORDS[status]}</p>
              {message !== null && <Lines text={message} />}
            </div>
          ))}
      </Folded>
      {ids.map((id, i) => (
        <a
          key={id}
          className="link meta"
          href={placeHref(place('sessions', sessionOfThread(id)))}
          aria-label={`Session of agent ${id}`}
        >
          {ids.length === 1 ? 'Its session' : `Session ${i + 1}`}
        </a>
      ))}
    </div>
  )
}
