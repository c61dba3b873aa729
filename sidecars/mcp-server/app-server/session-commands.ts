/** Runs the engine's commands on the host's exec server, each in the name of its thread's session. */
import type { ExecStart } from '../../exec-server/client/index.ts'
import { sessionOfThread, type SessionId } from '../../protocol/ids.ts'
import type { PeerHostLink } from '../sessions/host-link.ts'
import type { CommandStarter } from '../engine/services.ts'

/** What clients run outside of any thread belongs to this session. */
const CLIENTS_SESSION = 'ses_app-server-clients' as SessionId

/**
 * A command that was approved or is confined is only recorded by the gate; deny rules hold there all the
 * same. What runs with the owner's full rights because a session's policy lets it is asked about.
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
      const gatehouse = {
        sessionId: threadId === undefined ? clientsSession() : sessionOfThread(threadId),
        toolCallId,
        gate: options?.isApproved || isConfined(command) ? ('observe' as const) : ('ask' as const),
      }
      return exec.start({ ...command, metadata: { ...command.metadata, gatehouse } }, options)
    },
  }
}

/** Anything else is the owner's full rights, also "somebody else confines it". */
const isConfined = ({ sandbox }: ExecStart): boolean => sandbox?.permissions.type === 'managed'
