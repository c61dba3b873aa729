import type { Socket } from 'node:net'
import { closeSync, existsSync, openSync, unlinkSync } from 'node:fs'
import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import { TRANSPARENT_TCP_VARIABLE } from '../../protocol/network-variables.ts'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { nodePath } from '../files/byte-path.ts'
import type { FilePolicy } from '../files/file-policy.ts'
import type { ChildSpec } from '../processes/child.ts'
import { findProgram } from '../processes/program-path.ts'
import { bubblewrapArguments, RESOLVER_FILE, type Covers, type NetworkWall } from './bubblewrap-arguments.ts'
import type { Bubblewrap } from './bubblewrap-probe.ts'
import { closingWords, commandWords, hearingWords, TERMINAL_SCRIPT } from './command-words.ts'
import type { HandedOver } from './handed-over.ts'
import { inheritedDescriptors } from './inherited-descriptors.ts'
import type { Looks } from './looks.ts'
import type { MountPlan } from './mount-plan.ts'
import type { MountPoints } from './mount-points.ts'
import { ProxyBridge, type BridgePrograms } from './proxy-bridge.ts'
import { proxyPorts } from './proxy-ports.ts'
import { realWay } from './real-way.ts'
import { Redirection } from './redirection/redirection.ts'
import type { RedirectionProbe } from './redirection/redirection-probe.ts'
import { reportingWords } from './redirection/reporting-words.ts'
import { resolverFile } from './redirection/resolver-file.ts'
import { socksProxyOf } from './redirection/socks-proxy.ts'
import { preparationFailed, unavailable, type ConfinedSpec } from './sandbox.ts'
import type { FilterFiles } from './seccomp/filter-files.ts'
import type { SocketReach } from './seccomp/filter.ts'
import type { Machine } from './seccomp/system-calls.ts'
import type { WallPlans } from './wall-plans.ts'

/** What every confined command of a server shares. */
export interface Workshop {
  /** Existing private folder for sockets. */
  folder: string
  machine: Machine
  redirectionProbe: RedirectionProbe
  plans: WallPlans
  filters: FilterFiles
  covers: Covers
  mountPoints: MountPoints
  handedOver: HandedOver
  /** PATH of the server. */
  searchPath: () => string | undefined
}

export interface Walling {
  sandbox: SandboxObject | undefined
  tty: boolean
  network: NetworkWall
  bubblewrap: Bubblewrap
  /** There for `bridged` networks. */
  bridgePrograms: BridgePrograms | undefined
  /** Ports of this machine that a `bridged` network reaches beside those of the proxy. */
  loopbackPorts: readonly number[]
  /** The field that asks for the command's connections to be redirected; its variables may ask for it as well. */
  redirectedBy: string | undefined
  /** The proxy's variables come from a host. */
  isNetworkManaged: boolean
}

/** The way to a bridge, and what the command line begins with for it. */
interface Entrance {
  words: readonly string[]
  isRedirected: boolean
}
const NO_ENTRANCE: Entrance = { words: [], isRedirected: false }

/** Descriptors at which bwrap finds its options and the filter; TERMINAL_SCRIPT knows them, too. */
const OPTIONS_FD = 3
const FILTER_FD = 4
const SOCKETS: Record<NetworkWall, SocketReach> = { none: 'none', bridged: 'internet', machine: 'all' }
/** MAX_ARGS of bwrap; an environment takes three for a variable. */
const MAX_OPTIONS = 9_000
const SHELL = '/bin/sh'

/** One command with the walls it gets. */
export class ConfinedCommand {
  /** @throws WireError for a sandbox object that cannot be understood */
  constructor(
    private readonly workshop: Workshop,
    private readonly walling: Walling,
  ) {
    workshop.plans.check(walling.sandbox)
  }

  /**
   * @throws WireError when the walls cannot be built as asked
   * @throws an error with the system's code when the program or its folder is not there
   */
  async build(spec: ChildSpec, proxyEnvironment: Readonly<Record<string, string>>): Promise<ConfinedSpec> {
    const { sandbox, network, bubblewrap } = this.walling
    const { plans, covers } = this.workshop
    const { policy, files: planned, looks } = plans.planFor(sandbox)
    const cwd = visibleCwd(spec, policy, looks)
    const undo: (() => void)[] = []
    const release = () => undo.splice(0).forEach((step) => step())
    try {
      const files = { ...planned, mounts: this.withMountPoints(planned, undo) }
      const entrance = network === 'bridged' ? await this.openBridge(proxyEnvironment, undo) : NO_ENTRANCE
      const resolver = entrance.isRedirected ? this.resolverFor(policy, files) : undefined
      const options = bubblewrapArguments({ files, network, cwd, covers, resolver, environment: spec.environment })
      return { spec: this.launch(spec, [...entrance.words, bubblewrap.path], options, undo), release }
    } catch (error) {
      release()
      throw error
    }
  }

  private withMountPoints({ mounts }: MountPlan, undo: (() => void)[]): MountPlan['mounts'] {
    const { mountPoints } = this.workshop
    return mounts.filter(({ kind, path }) => {
      if (kind !== 'vacant') return true
      if (!mountPoints.take(path)) return false
      undo.push(() => mountPoints.giveBack(path))
      return true
    })
  }

  private async openBridge(environment: Readonly<Record<string, string>>, undo: (() => void)[]): Promise<Entrance> {
    const { bridgePrograms, bubblewrap, loopbackPorts } = this.walling
    const { folder, machine } = this.workshop
    const proxies = proxyPorts(environment)
    const ports = [...new Set([...proxies, ...loopbackPorts])]
    if (ports.length === 0 || !bridgePrograms)
      throw unavailable(
        'the command may only reach the network through the proxy, and there is none: no proxy variable names a port of this machine',
      )
    const serve = await this.redirection({ ...bridgePrograms, bubblewrap }, environment)
    const redirection = serve && { machine, serve }
    const bridge = await ProxyBridge.open({ ...bridgePrograms, bubblewrap, folder, ports, redirection })
    undo.push(() => bridge.dispose())
    const reporting = redirection ? reportingWords(bridgePrograms.perl, machine) : []
    return { words: [...bridge.entering, ...reporting], isRedirected: redirection !== undefined }
  }

  /** What takes over redirected connections; undefined when nobody wants them redirected. */
  private async redirection(
    programs: BridgePrograms & { bubblewrap: Bubblewrap },
    environment: Readonly<Record<string, string>>,
  ): Promise<((socket: Socket) => void) | undefined> {
    const { redirectedBy, isNetworkManaged } = this.walling
    const isOwners = isNetworkManaged && environment[TRANSPARENT_TCP_VARIABLE] === '1'
    const field = redirectedBy ?? (isOwners ? 'transparent_tcp' : undefined)
    if (field === undefined) return undefined
    const proxy = socksProxyOf(environment)
    if (!proxy)
      throw unavailable(
        `${field}: redirected connections go through SOCKS, and no variable of the proxy (ALL_PROXY) names a SOCKS port of this machine; switch SOCKS on, or leave ${field} out`,
      )
    await this.workshop.redirectionProbe.require(field, programs)
    const redirection = new Redirection(proxy)
    return (socket) => void redirection.serve(socket)
  }

  /** Undefined where the machine's own file is not there, or not to be seen by the command. */
  private resolverFor(policy: FilePolicy, { root }: MountPlan): string | undefined {
    const file = realWay(RESOLVER_FILE)
    const isShown = policy.isVisible(file) || (root === 'hidden' && file !== RESOLVER_FILE)
    return isShown && existsSync(nodePath(file)) ? resolverFile(this.workshop.folder) : undefined
  }

  /** What is spawned. Nothing of the command's environment reaches bwrap itself: it would obey LD_PRELOAD. */
  private launch(
    spec: ChildSpec,
    launcher: readonly string[],
    options: readonly string[],
    undo: (() => void)[],
  ): ChildSpec {
    if (options.length > MAX_OPTIONS)
      throw preparationFailed(
        `mounts and environment need ${options.length} options, more than the ${MAX_OPTIONS} that bwrap takes`,
      )
    const { handedOver, filters } = this.workshop
    const optionBytes = Buffer.from(options.map((option) => `${option}\0`).join(''), 'latin1')
    const filterPath = filters.pathOf(SOCKETS[this.walling.network])
    const { PATH: searchPath } = spec.environment
    const words = commandWords({ program: spec.program, argv: spec.argv, searchPath, cwd: spec.cwd })
    const command = [...launcher, '--args', `${OPTIONS_FD}`, '--seccomp', `${FILTER_FD}`, '--']
    const common = { cwd: '/', environment: {}, terminal: spec.terminal }
    if (this.walling.tty) {
      const optionsPath = handedOver.asFile(optionBytes)
      undo.push(() => removeFile(optionsPath))
      const shell = [SHELL, '-c', TERMINAL_SCRIPT, 'gatehouse-sandbox', optionsPath, filterPath]
      const hearing = hearingWords(words, this.programOfOurs('env'), this.programOfOurs('perl'))
      const argv = [...shell, ...this.closingWords(), ...command, ...hearing]
      return { ...common, program: SHELL, argv, closesInherited: true }
    }
    const inheritedFds = [handedOver.asDescriptor(optionBytes), openSync(filterPath, 'r')]
    undo.push(() => inheritedFds.forEach((fd) => closeSync(fd)))
    const argv = [...command, ...words]
    return { ...common, program: argv[0] as string, argv, inheritedFds, closingWords: () => this.closingWords() }
  }

  private closingWords(): string[] {
    const strays = inheritedDescriptors().filter((fd) => fd > FILTER_FD)
    return strays.length === 0 ? [] : closingWords(strays, this.programOfOurs('perl'))
  }

  private programOfOurs(name: string): string | undefined {
    const found = findProgram(name, '/', this.workshop.searchPath())
    return 'path' in found ? found.path : undefined
  }
}

/** The real working directory, once it and the program are known to be there for the command. */
function visibleCwd({ program, cwd, environment }: ChildSpec, policy: FilePolicy, looks: Looks): BytePath {
  const found = findProgram(program, cwd, environment.PATH)
  if (!('path' in found)) throw systemError(found.errno)
  // Which of the two it is about is found out by whoever tells the client.
  const folder = realWay(pathOfText(cwd), looks)
  if (looks.kindOf(folder) !== 'folder') throw systemError('ENOENT')
  for (const [what, path] of [
    ['working directory', folder],
    ['program', realWay(pathOfText(found.path))],
  ] as const)
    if (!policy.isVisible(path))
      throw preparationFailed(`the ${what} ${path} cannot be seen inside of the sandbox; give it an entry`)
  return folder
}

const systemError = (code: string) => Object.assign(new Error(code), { code })

function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Removed already, by the shell that has opened it.
  }
}
