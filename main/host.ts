/** The host: everything but the screen. Composition only; the app and `gatehouse serve` make one each. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { InvokeChannel, Invokes, ThreadNews } from '../preload/api.ts'
import type { Actor } from '../sidecars/protocol/decision.ts'
import { Agents } from './agents/agents.ts'
import type { RunHandle, RunRequest, RunSink } from './control/controlled-host.ts'
import { Egress } from './egress/egress.ts'
import { NetworkFile } from './egress/network-file.ts'
import { proxyEnvironment, proxyVariableNames } from './egress/proxy-environment.ts'
import { ProxyRules } from './egress/proxy-rules.ts'
import type { Feed } from './feed/feed.ts'
import { followSidecars, type Clients } from './host/follow-sidecars.ts'
import { openFoundation, type Foundation } from './host/foundation.ts'
import { restorePast } from './host/restore-past.ts'
import { RuleTables } from './host/rule-tables.ts'
import { Runs } from './host/runs.ts'
import { Shells } from './host/shells.ts'
import { createConfigs, execSocketPath, type ConfigSources } from './host/sidecar-configs.ts'
import { createTables } from './host/tables.ts'
import { Intents } from './intents.ts'
import { readLoginEnvironment } from './processes/login-environment.ts'
import { OwnerVariables } from './processes/owner-variables.ts'
import { Sampler } from './processes/sampler.ts'
import { settingsView } from './settings/settings.ts'
import { ExecServerClient } from './sidecar-clients/exec-server-client.ts'
import { McpServerClient } from './sidecar-clients/mcp-server-client.ts'
import { NetworkProxyClient } from './sidecar-clients/network-proxy-client.ts'
import { SIDECAR_WORDS } from './sidecar-clients/sidecar-words.ts'
import type { Launcher } from './supervisor/launcher.ts'
import { Supervisor } from './supervisor/supervisor.ts'
import type { SupervisorTiming } from './supervisor/timing.ts'

export interface HostOptions {
  /** Absolute, mode 0700, made and locked by the caller. */
  dataDir: string
  /** For sockets; short enough for them. */
  runDir: string
  version: string
  launcher: Launcher
  /** The file that a terminal or an agent starts as our command line. */
  program: string
  /** One line for the host's own log; default stderr. */
  log?: (message: string) => void
  timing?: Partial<SupervisorTiming>
  /** Default: asks the owner's login shell. */
  readEnvironment?: typeof readLoginEnvironment
}

export interface Host {
  readonly instanceId: string
  readonly dataDir: string
  /** Opens the agents' sockets; can never decide. */
  readonly agentToken: string
  /** Opens the WebSocket of the app-server protocol, whose clients answer as the owner. */
  readonly appServerToken: string
  readonly feed: Feed
  /** Notifications of Gatehouse's own sessions that were opened through `threads.call`. Returns the unsubscriber. */
  onThreadNews(listener: (news: ThreadNews) => void): () => void
  /**
   * Does what the owner asks. Rejects with RpcError: `invalidParams` naming the argument, `methodNotFound`
   * for the channels that only a desktop answers.
   */
  invoke<C extends InvokeChannel>(channel: C, args: Invokes[C]['args'], actor: Actor): Promise<Invokes[C]['result']>
  /** Runs a command of the owner. Rejects with RpcError `denied` and the reason when a rule says no. */
  startRun(request: RunRequest, sink: RunSink): Promise<RunHandle>
  /** Proxy variables for a shell of the owner, which is a session until it ends. Rejects while there is no proxy. */
  shellEnvironment(shell: { cwd: string; pid: number }): Promise<Record<string, string>>
  /** Puts on record that the window tried something it may not. */
  recordRefusal(what: string, detail: string): void
  /** Shows a sentence to the owner until another one with the same id replaces it. */
  notify(id: string, message: string): void
  /** Starts the sidecars; resolves when each is ready or has failed once. */
  start(): Promise<void>
  /** Withdraws what waits, stops everything and writes the journal, within the deadline. Once. */
  stop(deadlineMs: number): Promise<void>
}

/** How much of a deadline is left for the journal after the sidecars are gone. */
const JOURNAL_MS = 400

/**
 * Makes a host on a data folder. Rejects only when it cannot work at all; corrupt or unreadable files in
 * the folder are kept and become notices. The caller owns it: `start` once, then `stop` once.
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const { dataDir, runDir, version, launcher } = options
  const log = options.log ?? ((message) => void process.stderr.write(`${message}\n`))
  const foundation = await openFoundation({ dataDir, version, program: options.program, log })
  const { instanceId, feed, notices, audit, settings, rules, projects, programs, rulesFolder } = foundation

  let baseEnvironment: Record<string, string> = {}
  let loginVariables: Record<string, string> = {}
  const agentToken = randomBytes(32).toString('base64url')
  const appServerToken = randomBytes(32).toString('base64url')
  const sources: ConfigSources = {
    runDir,
    agentToken,
    appServerToken,
    internalToken: randomBytes(32).toString('base64url'),
    settings: () => settings.current,
    baseEnvironment: () => baseEnvironment,
    ownerFile: () => networkFile.current,
    proxyEnvironment: () =>
      proxyEnvironment(proxyVariableNames(networkFile.current?.text), process.env, loginVariables),
    execSocket: () => links['exec-server'].view().endpoints.unix ?? null,
  }
  const supervisor = new Supervisor({
    launcher,
    dataDir,
    runDir,
    instanceId,
    log,
    configs: {
      'exec-server': () => configs['exec-server'].forStart(),
      'mcp-server': () => configs['mcp-server'].forStart(),
      'network-proxy': () => ({ ...configs['network-proxy'].forStart(), ...proxyRules.forStart() }),
    },
    ...(options.timing && { timing: options.timing }),
  })
  const links = {
    'exec-server': supervisor.sidecar('exec-server'),
    'mcp-server': supervisor.sidecar('mcp-server'),
    'network-proxy': supervisor.sidecar('network-proxy'),
  }
  const clients: Clients = {
    exec: new ExecServerClient(links['exec-server']),
    mcp: new McpServerClient(links['mcp-server'], new OwnerVariables(options.readEnvironment)),
    proxy: new NetworkProxyClient(links['network-proxy']),
  }
  const { exec, proxy } = clients
  const configs = createConfigs(sources, links, clients, (name, message) => {
    if (message === null) notices.clear(`configure-${name}`)
    else
      notices.raise(`configure-${name}`, {
        level: 'warning',
        message: `A change of settings was refused by ${SIDECAR_WORDS[name]}; restart it to apply them.`,
        detail: message,
      })
  })
  const tellProxy = () => {
    const link = links['network-proxy']
    // One that could not start with what was known is started with what is known now.
    if (['failed', 'backoff'].includes(link.view().state)) void link.restart()
    else void configs['network-proxy'].sync()
  }
  const networkFile = new NetworkFile(join(dataDir, 'network.toml'), tellProxy)
  const tables = createTables(foundation, proxy)
  const { sessions, processes, approvals, connections } = tables
  const proxyRules = new ProxyRules({
    setRules: (revision, list) => proxy.setRules(revision, list),
    onState: () => ruleTables.refresh(),
  })
  const ruleTables = new RuleTables({ rules, proxyRules, feed, notices, audit })
  foundation.onRuleFired = () => ruleTables.countsChanged()
  const runs = new Runs({
    execLink: links['exec-server'],
    exec,
    socketPath: execSocketPath(runDir),
    internalToken: sources.internalToken,
    sessions,
    processes,
  })
  const shells = new Shells({ sessions, leases: tables.leases })
  followSidecars({
    foundation,
    tables,
    clients,
    runs,
    proxyRules,
    configs,
    links,
  })
  settings.onChange((now, changed) => {
    feed.setSettings(settingsView(now))
    audit.record({ kind: 'settings.changed', changed })
    for (const config of Object.values(configs)) void config.sync()
    if (changed.readCodexRules !== undefined) void projects.apply()
  })
  const sampler = new Sampler({
    wanted: () => (feed.subscriberCount === 0 ? [] : processes.alive().map(({ id }) => id)),
    members: (id) => exec.members(id),
    report: (id, usage) => processes.setUsage(id, usage),
  })
  const intents = new Intents({
    feed,
    approvals,
    audit,
    rules,
    projects,
    proxyRules,
    egress: new Egress({ rules, connections, proxyRules, audit, rulesFolder }),
    settings,
    sessions,
    processes,
    exec,
    mcp: clients.mcp,
    supervisor,
    agents: new Agents({
      commandLine: foundation.commandLine,
      findProgram: (name) => programs.find(name),
      attached: () => sessions.openAgents(),
    }),
  })
  await networkFile.start()
  await rules.start()
  await projects.apply()

  const adoptLoginEnvironment = async () => {
    const alsoNames = proxyVariableNames(networkFile.current?.text)
    const { variables, also, warning } = await (options.readEnvironment ?? readLoginEnvironment)({ alsoNames })
    if (warning !== undefined) notices.raise('login-environment', { level: 'warning', message: warning })
    baseEnvironment = variables
    loginVariables = also ?? {}
    if (variables.PATH !== undefined) programs.set(variables.PATH)
    await configs['exec-server'].sync()
    void configs['mcp-server'].sync()
    tellProxy()
  }

  return {
    instanceId,
    dataDir,
    agentToken,
    appServerToken,
    feed,
    onThreadNews: (listener) => clients.mcp.onThreadNews(listener),
    invoke: (channel, args, actor) => intents.invoke(channel, args, actor),
    startRun: (request, sink) => runs.start(request, sink),
    shellEnvironment: (shell) => shells.environment(shell),
    recordRefusal: (what, detail) => audit.record({ kind: 'window.refused', what, detail }),
    notify: (id, message) => notices.raise(id, { level: 'warning', message }),
    async start() {
      // Neither is waited for: a shell may take seconds, a month of journal too.
      void adoptLoginEnvironment()
      void restorePast({ ...foundation, ...tables }).catch((error: Error) => reportJournal(foundation, error))
      const { ended } = await supervisor.start()
      sampler.start()
      if (ended.length > 0)
        notices.raise('swept', {
          level: 'info',
          message: `Gatehouse was killed the last time. ${ended.length} processes that it left behind were ended.`,
        })
    },
    async stop(deadlineMs) {
      const endsAtMs = Date.now() + deadlineMs
      sampler.stop()
      networkFile.stop()
      shells.stop()
      approvals.dispose('Gatehouse stops')
      await runs.close()
      await supervisor.stop(Math.max(0, endsAtMs - Date.now() - JOURNAL_MS))
      ruleTables.stop()
      await rules.stop()
      audit.record({ kind: 'host.stopped' })
      await audit.close(Math.max(JOURNAL_MS / 2, endsAtMs - Date.now()))
      feed.flush()
      feed.dispose()
    },
  }
}

function reportJournal({ notices }: Foundation, error: Error): void {
  notices.raise('audit-past', {
    level: 'warning',
    message: 'The audit journal of earlier days cannot be read, so previews of rules do not count them.',
    detail: error.message,
  })
}
