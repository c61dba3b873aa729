import type { ProcessStartParams } from '../../protocol/exec-process.ts'
import type { SessionId } from '../../protocol/ids.ts'
import { parsePathUri, PathUriError, textOfPath } from '../../protocol/path-uri.ts'
import type { ManagedNetwork } from '../managed-network/managed-network.ts'
import type { ProcessStopper } from '../life/process-stopper.ts'
import { MARKER_VARIABLE } from '../life/process-tree.ts'
import type { FifoPool } from '../streams/fifo-pool.ts'
import { DenialWatch } from '../sandbox/denial-watch.ts'
import type { Sandbox, SandboxType, Walls } from '../sandbox/sandbox.ts'
import type { ShellSnapshots } from '../shell-snapshots/shell-snapshots.ts'
import type { Session } from '../sessions/session.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { WireError } from '../wire/wire-error.ts'
import type { Child, ChildSpec } from './child.ts'
import { childEnvironment, type InheritableEnvironment } from './child-environment.ts'
import type { CommandGate } from './command-gate.ts'
import { commandSubject } from './command-subject.ts'
import type { FloodReader } from './flood-reader.ts'
import { ManagedProcess } from './managed-process.ts'
import { startPipeChild } from './pipe-child.ts'
import { startPtyChild } from './pty-child.ts'
import type { ProcessTable } from './process-table.ts'
import type { Spawner } from './spawner.ts'
import { oversizedArgument, searchedNowhere, spawnFailure } from './spawn-failure.ts'

const MAX_SCOPE_BYTES = 256

export interface StartResult {
  processId: string
  sandboxType: SandboxType
}

export interface StarterParts {
  table: ProcessTable
  stopper: ProcessStopper
  fifos: FifoPool
  spawner: Spawner
  floods: FloodReader
  sandbox: Sandbox
  network: ManagedNetwork
  snapshots: ShellSnapshots
  /** None when nobody supervises: then whoever has the connection decides. */
  gate: CommandGate | undefined
  inheritable: InheritableEnvironment
}

/** Starts processes: checks, asks the gate, spawns. */
export class ProcessStarter {
  constructor(private readonly parts: StarterParts) {}

  /** @throws WireError; the client's process id is then free again */
  async start(params: ProcessStartParams, session: Session, connection: WireConnection): Promise<StartResult> {
    const { table } = this.parts
    const cwd = checkedCwd(params)
    checkText(params)
    if (session.find(params.processId))
      throw new WireError('invalidRequest', `process ${params.processId} already exists`)
    const process = table.add(
      {
        sessionId: this.ownerOf(params, session, connection),
        clientProcessId: params.processId,
        toolCallId: (isInternal(connection) && params.metadata?.gatehouse?.toolCallId) || params.metadata?.toolCallId,
        argv: params.argv,
        cwd,
        tty: params.tty,
      },
      session,
    )
    const forget = connection.own({ dispose: () => process.withdrawStart() })
    try {
      const sandboxType = await this.spawn(process, params, cwd, session, connection)
      return { processId: params.processId, sandboxType }
    } catch (error) {
      table.failed(process, error instanceof Error ? error.message : String(error))
      throw error
    } finally {
      forget()
    }
  }

  private async spawn(
    process: ManagedProcess,
    params: ProcessStartParams,
    cwd: string,
    session: Session,
    connection: WireConnection,
  ): Promise<SandboxType> {
    const { sandbox, gate, table, inheritable, stopper, network, snapshots } = this.parts
    const environment = childEnvironment(params, inheritable)
    const spec: ChildSpec = { program: params.argv[0] as string, argv: seenArgv(params), cwd, environment }
    // Refuses before anybody is asked: a question about what cannot run is noise.
    const walls = await sandbox.require(params)
    network.check(params)
    const tooBig = oversizedArgument(spec)
    if (tooBig) throw tooBig
    let marker: string | undefined
    let proxyEnvironment: Readonly<Record<string, string>> = environment
    const { gatehouse } = (isInternal(connection) && params.metadata) || {}
    spec.terminal = gatehouse?.terminal
    if (gate) {
      const subject = commandSubject(params, cwd, environment, inheritable.get())
      const answer = await gate.pass(
        {
          process,
          subject,
          gate: gatehouse?.gate,
          toolCallId: gatehouse?.toolCallId ?? params.metadata?.toolCallId,
          title: gatehouse?.title,
          refused: refusalBefore(process, table.all()),
          isInternal: isInternal(connection),
        },
        process.startSignal,
      )
      process.requestId = answer.requestId
      marker = process.id
      proxyEnvironment = answer.environment
      Object.assign(spec.environment, answer.environment, { [MARKER_VARIABLE]: marker })
    }
    if (params.networkProxy && !process.isWithdrawn) {
      const fromHost = gate && proxyEnvironment
      const { environment: changed } = spec
      proxyEnvironment = await network.launch({
        process,
        session,
        launch: params.networkProxy,
        environment: changed,
        fromHost,
      })
      Object.assign(spec.environment, proxyEnvironment)
    }
    // Startup files are the owner's own programs: they are never run in advance for a command behind walls.
    const mayShare = params.shellSnapshot !== undefined && walls.sandboxType === 'none'
    const ready = mayShare ? await snapshots.applyTo(spec, params, session) : spec
    if (process.isWithdrawn) throw new WireError('internal', 'the process was stopped before it started')
    process.begin(await this.startBehind(walls, process, ready, params, proxyEnvironment), marker)
    table.started(process)
    // Stopped in the moments in which its pipes were opened.
    if (process.isWithdrawn) stopper.terminate(process)
    return walls.sandboxType
  }

  private async startBehind(
    walls: Walls,
    process: ManagedProcess,
    spec: ChildSpec,
    params: ProcessStartParams,
    proxyEnvironment: Readonly<Record<string, string>>,
  ): Promise<Child> {
    if (walls.sandboxType === 'none') return this.startChild(process, spec, params)
    const confined = await walls.build(spec, proxyEnvironment).catch((error: unknown) => {
      throw error instanceof WireError ? error : spawnFailure(error as NodeJS.ErrnoException, spec)
    })
    try {
      if (process.isWithdrawn) throw new WireError('internal', 'the process was stopped before it started')
      process.confine(walls.sandboxType, new DenialWatch(), confined.release)
      return await this.startChild(process, confined.spec, params)
    } catch (error) {
      confined.release()
      throw error
    }
  }

  private async startChild(process: ManagedProcess, spec: ChildSpec, params: ProcessStartParams): Promise<Child> {
    const nowhere = searchedNowhere(spec)
    if (nowhere) throw nowhere
    try {
      return params.tty
        ? startPtyChild(spec, this.parts.floods, process)
        : await startPipeChild(spec, params.pipeStdin, this.parts, process)
    } catch (error) {
      throw spawnFailure(error as NodeJS.ErrnoException, spec)
    }
  }

  /** Only our own programs may act for another session than their connection's. */
  private ownerOf(params: ProcessStartParams, session: Session, connection: WireConnection): SessionId {
    const named = isInternal(connection) ? params.metadata?.gatehouse?.sessionId : undefined
    return (named as SessionId | undefined) ?? session.id
  }
}

/** What the sandbox of the same command refused, when the session has run it before and now starts it again. */
function refusalBefore({ seed }: ManagedProcess, all: readonly ManagedProcess[]): string | undefined {
  const isSame = (other: ManagedProcess['seed']) =>
    other.sessionId === seed.sessionId &&
    other.cwd === seed.cwd &&
    other.argv.length === seed.argv.length &&
    other.argv.every((word, i) => word === seed.argv[i])
  return all.findLast((other) => other.hasExited && isSame(other.seed))?.refusal
}

const isInternal = (connection: WireConnection): boolean => connection.identity.kind === 'internal'

function seenArgv({ argv, arg0 }: ProcessStartParams): string[] {
  return arg0 === undefined ? argv : [arg0, ...argv.slice(1)]
}

function checkedCwd({ argv, cwd }: ProcessStartParams): string {
  if (argv.length === 0) throw new WireError('invalidParams', 'argv must not be empty')
  try {
    const path = textOfPath(parsePathUri(cwd, process.platform))
    if (path !== null) return path
    throw new WireError('invalidParams', `cwd URI \`${cwd}\` is not valid on this exec-server host: it is not UTF-8`)
  } catch (error) {
    if (!(error instanceof PathUriError)) throw error
    const prefix = error.kind === 'foreign' ? `cwd URI \`${cwd}\` is not valid on this exec-server host: ` : ''
    throw new WireError('invalidParams', prefix + error.message)
  }
}

/** No argument or variable of a process can hold a zero byte: the system would silently cut it off. */
function checkText({ argv, arg0, env, envPolicy, shellSnapshot }: ProcessStartParams): void {
  const refuse = (field: string) => {
    throw new WireError('invalidParams', `${field}: a NUL character cannot be part of it`, { field })
  }
  argv.forEach((text, index) => text.includes('\0') && refuse(`argv[${index}]`))
  if (arg0?.includes('\0')) refuse('arg0')
  const scopeBytes = shellSnapshot ? Buffer.byteLength(shellSnapshot.scopeId) : 1
  if (scopeBytes < 1 || scopeBytes > MAX_SCOPE_BYTES)
    throw new WireError(
      'invalidParams',
      `shellSnapshot.scopeId: must have 1 to ${MAX_SCOPE_BYTES} bytes, got ${scopeBytes}`,
      { field: 'shellSnapshot.scopeId' },
    )
  for (const [place, variables] of [
    ['env', env],
    ['envPolicy.set', envPolicy?.set ?? {}],
  ] as const)
    for (const [name, value] of Object.entries(variables)) {
      if (name.includes('\0') || value.includes('\0')) refuse(`${place}.${name.replaceAll('\0', '\\0')}`)
      if (name === '' || name.includes('='))
        throw new WireError('invalidParams', `${place}: "${name}" is not a variable's name`, { field: place })
    }
}
