/** Runs the engine's commands on the host's exec server, each in the name of its thread's session. */
import type { SessionId } from '../../protocol/ids.ts'
import type { PeerHostLink } from '../sessions/host-link.ts'
import type { CommandStarter } from '../engine/services.ts'
import { sessionOfThread } from './thread-sessions.ts'

/** What clients run outside of any thread belongs to this session. */
const CLIENTS_SESSION = 'ses_app-server-clients' as SessionId

/**
 * A thread's command was approved or is confined by the engine, so the gate only records it; deny rules
 * hold there all the same. A client's own command outside of threads is asked about unless it is confined.
 */
export function sessionCommands(exec: CommandStarter, host: Pick<PeerHostLink, 'opened'>): CommandStarter {
  let isAnnounced = false
  const clientsSession = (): SessionId => {
    if (!isAnnounced)
      host.opened({
        id: CLIENTS_SESSION,
        agentName: 'app-server clients',
        title: 'Commands outside of sessions',
        via: 'app-server',
        openedAtMs: Date.now(),
      })
    isAnnounced = true
    return CLIENTS_SESSION
  }
  return {
    start(command, options) {
      const { threadId, toolCallId } = command.metadata ?? {}
      const gatehouse =
        threadId === undefined
          ? { sessionId: clientsSession(), gate: command.sandbox ? ('observe' as const) : ('ask' as const) }
          : { sessionId: sessionOfThread(threadId), toolCallId, gate: 'observe' as const }
      return exec.start({ ...command, metadata: { ...command.metadata, gatehouse } }, options)
    },
  }
}
