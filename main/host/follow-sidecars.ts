import type { SidecarView } from '../../preload/api.ts'
import type { SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { ProxyRules } from '../egress/proxy-rules.ts'
import { showSelfTest } from '../egress/self-test-notice.ts'
import { ExecServerClient, type SessionNews } from '../sidecar-clients/exec-server-client.ts'
import { watchGenerations } from '../sidecar-clients/life.ts'
import { McpServerClient } from '../sidecar-clients/mcp-server-client.ts'
import { NetworkProxyClient } from '../sidecar-clients/network-proxy-client.ts'
import type { SidecarLink } from '../sidecar-clients/sidecar-link.ts'
import { SIDECAR_WORDS } from '../sidecar-clients/sidecar-words.ts'
import type { Foundation } from './foundation.ts'
import { answerApprovals } from './answer-approvals.ts'
import type { Runs } from './runs.ts'
import type { Tables } from './tables.ts'
import type { SidecarConfigs } from './sidecar-configs.ts'

export interface Clients {
  exec: ExecServerClient
  mcp: McpServerClient
  proxy: NetworkProxyClient
}

export interface FollowOptions {
  foundation: Foundation
  tables: Tables
  clients: Clients
  runs: Runs
  proxyRules: ProxyRules
  configs: SidecarConfigs
  links: Record<SidecarName, SidecarLink>
}

/**
 * Listens to the sidecars for as long as they live: facts into the tables, questions to the approvals, and
 * what a life takes with it when it ends. Register before they start.
 */
export function followSidecars(options: FollowOptions): void {
  const { links, tables, runs, foundation } = options
  for (const link of Object.values(links)) {
    answerApprovals(link, {
      approvals: tables.approvals,
      leases: tables.leases,
      audit: foundation.audit,
      onCommand: (sessionId, processId) => runs.noteCommand(sessionId, processId),
    })
    showSidecar(link, foundation)
    watchGenerations(link, SIDECAR_WORDS[link.name], (generation, reason) => {
      tables.approvals.withdrawGeneration(link.name, generation, reason)
      tables.sessions.loseGeneration(link.name, generation, reason)
    })
  }
  followExecServer(options)
  options.clients.mcp.receive(sessionNews(options, 'mcp-server'))
  followProxy(options)
}

function followExecServer(options: FollowOptions): void {
  const { clients, tables, links, configs } = options
  const { exec } = clients
  const link = links['exec-server']
  exec.receive({
    ...sessionNews(options, 'exec-server'),
    onProcess: (facts, generation) => tables.processes.change(facts, generation),
    onForgotten: (id) => tables.processes.forget(id),
  })
  watchGenerations(link, SIDECAR_WORDS['exec-server'], (generation, reason) =>
    tables.processes.loseGeneration(generation, reason),
  )
  link.onReady((_result, generation) => {
    void exec.list().then(
      (processes) => {
        for (const facts of processes) tables.processes.change(facts, generation)
      },
      () => {
        // It ended again; its next life is asked anew.
      },
    )
    // Where it listens may be another place than before.
    void configs['mcp-server'].sync()
  })
}

function followProxy({ clients, tables, links, proxyRules, foundation }: FollowOptions): void {
  const link = links['network-proxy']
  clients.proxy.receive((connections, generation) => {
    for (const facts of connections) tables.connections.change(facts, generation)
  })
  link.onReady(({ warnings }) => {
    showSelfTest(foundation.notices, warnings)
    proxyRules.proxyReady()
    void tables.leases.grantAgain()
  })
  watchGenerations(link, SIDECAR_WORDS['network-proxy'], (generation, reason) => {
    proxyRules.proxyGone(reason)
    tables.connections.loseGeneration(generation, reason)
  })
}

function sessionNews({ tables }: FollowOptions, sidecar: SidecarName): SessionNews {
  const { sessions } = tables
  return {
    onOpened: (facts, generation) => sessions.open(facts, { sidecar, generation }),
    onUpdated: (facts) => sessions.update(facts),
    onClosed: (id, reason) => sessions.close(id, reason),
  }
}

function showSidecar(link: SidecarLink, { feed, audit }: Foundation): void {
  let last: SidecarView | undefined
  const show = (view: SidecarView) => {
    feed.set('sidecars', view.name, view)
    if (view.state !== last?.state || view.generation !== last.generation) {
      const error = view.lastError === null || view.state === 'ready' ? {} : { error: view.lastError }
      audit.record({
        kind: 'sidecar.changed',
        name: view.name,
        state: view.state,
        generation: view.generation,
        ...error,
      })
    }
    last = view
  }
  feed.set('sidecars', link.name, link.view())
  link.onChanged(show)
}
