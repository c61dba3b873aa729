/** What the owner can ask of the host, from the window or the command line: one entry per channel. */
import type { InvokeChannel, Invokes, MemberView, ProcessReadView } from '../preload/api.ts'
import type { Actor } from '../sidecars/protocol/decision.ts'
import { decode, DecodeError } from '../sidecars/protocol/decode.ts'
import { threadOfSession, type ProcessId, type RuleId, type SessionId } from '../sidecars/protocol/ids.ts'
import { RpcError } from '../sidecars/rpc/rpc-error.ts'
import type { Agents } from './agents/agents.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { Audit } from './audit/audit.ts'
import type { Egress } from './egress/egress.ts'
import type { ProxyRules } from './egress/proxy-rules.ts'
import type { Feed } from './feed/feed.ts'
import { intentArguments, type HostChannel } from './intent-arguments.ts'
import type { Processes } from './processes/processes.ts'
import type { ProjectTrust } from './rules/project-trust.ts'
import { ruleHandlers } from './rules/rule-intents.ts'
import type { Rules } from './rules/rules.ts'
import type { Sessions } from './sessions/sessions.ts'
import { settingsView, type SettingsStore } from './settings/settings.ts'
import type { ExecServerClient } from './sidecar-clients/exec-server-client.ts'
import type { McpServerClient } from './sidecar-clients/mcp-server-client.ts'
import type { Supervisor } from './supervisor/supervisor.ts'

export interface IntentServices {
  feed: Feed
  approvals: Approvals
  audit: Audit
  rules: Rules
  projects: ProjectTrust
  proxyRules: ProxyRules
  egress: Egress
  settings: SettingsStore
  sessions: Sessions
  processes: Processes
  exec: ExecServerClient
  mcp: Pick<McpServerClient, 'callThread' | 'interruptThread'>
  supervisor: Pick<Supervisor, 'sidecar'>
  agents: Agents
}

type Handler<C extends HostChannel> = (
  args: Invokes[C]['args'],
  actor: Actor,
) => Invokes[C]['result'] | Promise<Invokes[C]['result']>
type Handlers = { [C in HostChannel]: Handler<C> }

export class Intents {
  private readonly handlers: Handlers

  constructor(services: IntentServices) {
    this.handlers = createHandlers(services)
  }

  /**
   * Checks the arguments and does what they ask, in the name of `actor`. Rejects with RpcError:
   * `invalidParams` naming the argument, `methodNotFound` for a channel that is not the host's, or what
   * the service says.
   */
  async invoke<C extends InvokeChannel>(channel: C, args: unknown, actor: Actor): Promise<Invokes[C]['result']> {
    if (!isHostChannel(channel)) throw new RpcError('methodNotFound', `there is no channel ${channel} at the host`)
    try {
      return await this.run(channel, args, actor)
    } catch (error) {
      if (error instanceof DecodeError) throw new RpcError('invalidParams', error.message, { field: error.path })
      throw error
    }
  }

  private async run<C extends HostChannel>(channel: C, args: unknown, actor: Actor): Promise<Invokes[C]['result']> {
    const decoded = decode<Invokes[C]['args']>(intentArguments[channel], args, 'arguments')
    return (this.handlers[channel] as Handler<C>)(decoded, actor)
  }
}

const isHostChannel = <C extends InvokeChannel>(channel: C): channel is C & HostChannel =>
  Object.hasOwn(intentArguments, channel)

function createHandlers(services: IntentServices): Handlers {
  const { feed, approvals, audit, egress, settings, supervisor, agents, mcp } = services
  return {
    'feed.snapshot': () => feed.snapshot(),
    'approvals.decide': ([intent], actor) => approvals.decide(intent, actor),
    'approvals.preview': ([id, scope]) => approvals.preview(id, scope),
    'egress.decide': ([intent], actor) => egress.decide(intent, actor),
    'egress.undo': async ([ruleId], actor) => {
      await egress.undo(ruleId as RuleId, actor)
      return null
    },
    'egress.preview': ([intent]) => egress.preview(intent),
    'settings.set': async ([change]) => settingsView(await settings.set(change)),
    'sidecars.restart': async ([sidecar]) => {
      await supervisor.sidecar(sidecar).restart()
      return null
    },
    'sidecars.diagnostics': ([sidecar]) => supervisor.sidecar(sidecar).diagnostics(),
    'audit.page': ([before, limit]) => audit.page(before, limit),
    'agents.list': () => agents.list(),
    'threads.call': ([method, params]) => mcp.callThread(method, params),
    ...processHandlers(services),
    ...ruleHandlers(services),
  }
}

function processHandlers({ exec, mcp, processes, sessions, approvals }: IntentServices) {
  const find = (id: string): ProcessId => {
    if (!processes.get(id as ProcessId)) throw new RpcError('notFound', `There is no process ${id}.`)
    return id as ProcessId
  }
  const handlers: Pick<Handlers, Extract<HostChannel, `processes.${string}`> | 'sessions.interrupt'> = {
    'processes.read': async ([id, afterSeq, maxBytes]): Promise<ProcessReadView> => {
      const { chunks, gap, nextSeq } = await exec.read({ id: find(id), afterSeq, maxBytes })
      return {
        chunks: chunks.map(({ seq, stream, base64 }) => ({ seq, stream, bytes: Buffer.from(base64, 'base64') })),
        gap: gap ?? null,
        nextSeq,
      }
    },
    'processes.write': async ([id, typed]) => {
      await exec.write(find(id), Buffer.from(typed, 'utf8'))
      return null
    },
    'processes.endInput': async ([id]) => {
      await exec.endInput(find(id))
      return null
    },
    'processes.signal': async ([id, signal]): Promise<MemberView[]> => exec.signal(find(id), signal),
    'processes.members': async ([id]): Promise<MemberView[]> => exec.members(find(id)),
    'processes.resize': async ([id, columns, rows]) => {
      await exec.resize(find(id), columns, rows)
      return null
    },
    'sessions.interrupt': async ([id], actor) => {
      const sessionId = id as SessionId
      if (!sessions.isOpen(sessionId)) throw new RpcError('notFound', `The session ${id} has ended.`)
      approvals.denySession(sessionId, actor, 'The owner interrupted the session.')
      const threadId = threadOfSession(sessionId)
      await Promise.all([
        ...processes.aliveOf(sessionId).map((process) => exec.signal(process.id, 'interrupt')),
        ...(threadId === null ? [] : [mcp.interruptThread(threadId)]),
      ])
      return null
    },
  }
  return handlers
}
