import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { FilePolicy } from '../files/file-policy.ts'
import type { ChildSpec } from '../processes/child.ts'
import { findProgram } from '../processes/program-path.ts'
import { bubblewrapArguments, type NetworkWall } from './bubblewrap-arguments.ts'
import type { Bubblewrap } from './bubblewrap-probe.ts'
import { commandWords, TERMINAL_SCRIPT, undoIgnored } from './command-wrapper.ts'
import { planMounts, type MountPlan } from './mount-plan.ts'
import type { MountPoints } from './mount-points.ts'
import { ProxyBridge, type BridgePrograms } from './proxy-bridge.ts'
import { proxyPorts } from './proxy-ports.ts'
import { realWay } from './real-way.ts'
import { preparationFailed, unavailable, type ConfinedSpec } from './sandbox.ts'
import { resolvePlaces, type PolicyContext } from './sandbox-places.ts'
import type { FilterFiles } from './seccomp/filter-files.ts'
import type { SocketReach } from './seccomp/filter.ts'

export interface ConfinedCommandParts {
  sandbox: SandboxObject | undefined
  tty: boolean
  network: NetworkWall
  /** Existing private folder for what is handed to bwrap. */
  folder: string
  policyContext: PolicyContext
  filters: FilterFiles
  mountPoints: MountPoints
  bubblewrap: Bubblewrap
  /** There for `bridged` networks. */
  bridgePrograms: BridgePrograms | undefined
  /** PATH of the server. */
  searchPath: string | undefined
}

/** Descriptors at which bwrap finds its options and the filter. */
const OPTIONS_FD = '3'
const FILTER_FD = '4'
const SOCKETS: Record<NetworkWall, SocketReach> = { none: 'none', bridged: 'internet', machine: 'all' }
/** MAX_ARGS of bwrap; an environment takes three for a variable. */
const MAX_ARGUMENTS = 9_000
const SHELL = '/bin/sh'

let made = 0

/** One command with the walls it gets. */
export class ConfinedCommand {
  constructor(private readonly parts: ConfinedCommandParts) {}

  /**
   * @throws WireError when the walls cannot be built as asked
   * @throws an error with the system's code when the program or its folder is not there, or not to be seen
   */
  async build(spec: ChildSpec, proxyEnvironment: Readonly<Record<string, string>>): Promise<ConfinedSpec> {
    const { sandbox, policyContext, network } = this.parts
    const cwd = this.visible(spec)
    const places = resolvePlaces(sandbox, policyContext)
    const files = places && planMounts(places)
    const undo: (() => void)[] = []
    const release = () => undo.splice(0).forEach((step) => step())
    try {
      if (files) files.mounts = this.withMountPoints(files, undo)
      const entering = network === 'bridged' ? await this.openBridge(proxyEnvironment, undo) : []
      const options = bubblewrapArguments({
        files,
        network,
        cwd,
        unreadableFile: this.unreadableFile(),
        environment: spec.environment,
      })
      return { spec: this.launch(spec, [...entering, this.parts.bubblewrap.path], options, undo), release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** The real working directory, once it and the program are known to be there for the command. */
  private visible({ program, cwd, environment }: ChildSpec): BytePath {
    const { sandbox, policyContext } = this.parts
    const found = findProgram(program, cwd, environment.PATH)
    if (!('path' in found)) throw systemError(found.errno)
    const folder = realWay(pathOfText(cwd))
    const policy = FilePolicy.of(sandbox, policyContext)
    if (policy && !policy.isVisible(folder))
      throw preparationFailed(`the working directory ${cwd} cannot be seen inside of the sandbox; give it an entry`)
    if (policy && !policy.isVisible(realWay(pathOfText(found.path))))
      throw preparationFailed(`the program ${found.path} cannot be seen inside of the sandbox; give it an entry`)
    return folder
  }

  private withMountPoints({ mounts }: MountPlan, undo: (() => void)[]): MountPlan['mounts'] {
    const { mountPoints } = this.parts
    return mounts.filter(({ kind, path }) => {
      if (kind !== 'vacant') return true
      if (!mountPoints.take(path)) return false
      undo.push(() => mountPoints.giveBack(path))
      return true
    })
  }

  private async openBridge(environment: Readonly<Record<string, string>>, undo: (() => void)[]): Promise<string[]> {
    const { bridgePrograms, bubblewrap, folder } = this.parts
    const ports = proxyPorts(environment)
    if (ports.length === 0 || !bridgePrograms)
      throw unavailable(
        'the command may only reach the network through the proxy, and there is none: no proxy variable names a port of this machine',
      )
    const bridge = await ProxyBridge.open({ ...bridgePrograms, bubblewrap, folder, ports })
    undo.push(() => bridge.dispose())
    return bridge.entering
  }

  /** What is spawned. Nothing of the command's environment reaches bwrap itself: it would obey LD_PRELOAD. */
  private launch(
    spec: ChildSpec,
    launcher: readonly string[],
    options: readonly string[],
    undo: (() => void)[],
  ): ChildSpec {
    if (options.length > MAX_ARGUMENTS)
      throw preparationFailed(
        `mounts and environment need ${options.length} options, more than bwrap takes (${MAX_ARGUMENTS})`,
      )
    const { folder, filters, network, tty } = this.parts
    const optionsPath = join(folder, `options-${made++}`)
    writeFileSync(optionsPath, options.map((option) => `${option}\0`).join(''), { mode: 0o600, encoding: 'latin1' })
    undo.push(() => removeFile(optionsPath))
    const filterPath = filters.pathOf(SOCKETS[network])
    const { PATH: searchPath } = spec.environment
    const words = commandWords({ program: spec.program, argv: spec.argv, searchPath, cwd: spec.cwd })
    const command = [...launcher, '--args', OPTIONS_FD, '--seccomp', FILTER_FD, '--']
    const common = { cwd: '/', environment: {}, terminal: spec.terminal }
    if (tty) {
      const argv = [SHELL, '-c', TERMINAL_SCRIPT, 'gatehouse-sandbox', optionsPath, filterPath]
      return { ...common, program: SHELL, argv: [...argv, ...command, ...this.hearing(words)] }
    }
    const inheritedFds = [openSync(optionsPath, 'r'), openSync(filterPath, 'r')]
    removeFile(optionsPath)
    undo.push(() => inheritedFds.forEach((fd) => closeSync(fd)))
    return { ...common, program: launcher[0] as string, argv: [...command, ...words], inheritedFds }
  }

  /** Lets the command hear Ctrl-C although bwrap does not. */
  private hearing(words: readonly string[]): string[] {
    const { searchPath } = this.parts
    const env = findProgram('env', '/', searchPath)
    const perl = findProgram('perl', '/', searchPath)
    if (!('path' in env)) throw unavailable('env (coreutils) was not found; sandboxed commands on a terminal need it')
    return undoIgnored(env.path, words, 'path' in perl ? perl.path : undefined)
  }

  private unreadableFile(): string {
    const path = join(this.parts.folder, 'unreadable')
    try {
      writeFileSync(path, '', { mode: 0o000, flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    return path
  }
}

const systemError = (code: string) => Object.assign(new Error(code), { code })

function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Removed already, by us or by the shell that has opened it.
  }
}
