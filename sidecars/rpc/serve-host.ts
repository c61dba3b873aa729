import { decode, integer, object, unknown } from '../protocol/decode.ts'
import {
  HOST_PROTOCOL_VERSION,
  initializeParams,
  shutdownParams,
  type InitializeResult,
} from '../protocol/host-channel.ts'
import { GATEHOUSE_VERSION } from '../protocol/version.ts'
import { writeStderrNow } from './fatal.ts'
import { RpcPeer } from './peer.ts'
import type { PortListener } from './port-transport.ts'
import { RpcError } from './rpc-error.ts'
import type { SidecarDefinition, SidecarInstance } from './sidecar.ts'
import type { Transport } from './transport.ts'

/** How long what a sidecar started may take to end when its host vanished or sent SIGTERM. */
const ORPHAN_DEADLINE_MS = 1_500
/** After the last answer the host closes the channel; this is for one that does not. */
const GOODBYE_MS = 1_000

/**
 * Serves the host on `transport` until the process ends: `sidecar/initialize` once, `ping`, `configure`
 * and `shutdown`. When the channel closes, however that happens, the sidecar shuts down and exits.
 */
export function serveHost(
  definition: SidecarDefinition,
  transport: Transport,
  onPort: (listener: PortListener) => void,
): void {
  let isInitialized = false
  let instance: SidecarInstance | undefined
  let ending: Promise<void> | undefined
  let exitCode = 0

  const log = (text: string) => writeStderrNow(`${definition.name}: ${text}\n`)
  const peer = new RpcPeer(transport, {
    onProblem: (problem) => log(`host channel: ${problem.kind}: ${problem.message}`),
  })

  const endWork = (deadlineMs: number): Promise<void> => {
    ending ??= instance ? withDeadline(instance.shutdown(deadlineMs), deadlineMs, log) : Promise.resolve()
    return ending
  }
  const leaveSoon = (code: number) => {
    exitCode = code
    setTimeout(() => process.exit(code), GOODBYE_MS)
  }

  peer.onRequest('sidecar/initialize', unknown, async (raw): Promise<InitializeResult> => {
    requireSameProtocol(raw)
    const params = decode(initializeParams, raw, 'params')
    if (isInitialized) throw new RpcError('invalidRequest', 'sidecar/initialize was already sent on this channel')
    isInitialized = true
    const release = peer.holdIncoming()
    try {
      instance = await definition.underHost({ host: peer, params, onPort })
    } catch (error) {
      log(`start failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      leaveSoon(1)
      throw error
    } finally {
      // After the answer has been written.
      setImmediate(release)
    }
    return {
      protocolVersion: HOST_PROTOCOL_VERSION,
      name: definition.name,
      version: GATEHOUSE_VERSION,
      pid: process.pid,
      endpoints: instance.endpoints,
      warnings: instance.warnings,
    }
  })
  peer.onRequest('sidecar/ping', unknown, () => ({}))
  peer.onRequest('sidecar/configure', object({ config: unknown }), async ({ config }) => {
    if (!instance) throw new RpcError('invalidRequest', 'sidecar/configure came before sidecar/initialize')
    await instance.configure(config)
    return {}
  })
  peer.onRequest('sidecar/shutdown', shutdownParams, async ({ deadlineMs }) => {
    await endWork(deadlineMs)
    leaveSoon(0)
    return {}
  })

  const abandon = (code: number) => {
    void endWork(ORPHAN_DEADLINE_MS).then(() => process.exit(code))
  }
  void peer.closed.then(() => abandon(exitCode))
  process.on('SIGTERM', () => abandon(128 + 15))
  // Ctrl-C and a closed terminal are the host's to act on: it stops its sidecars in order.
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  peer.start()
}

/** Read before anything else of the params: another version may have other members. */
function requireSameProtocol(raw: unknown): void {
  const { protocolVersion } = decode(object({ protocolVersion: integer(1) }), raw, 'params')
  if (protocolVersion === HOST_PROTOCOL_VERSION) return
  throw new RpcError(
    'invalidRequest',
    `this sidecar speaks host protocol ${HOST_PROTOCOL_VERSION} and the host speaks ${protocolVersion}: ` +
      'they are from different versions of Gatehouse. Rebuild or reinstall so that both match',
    { name: 'version-mismatch', sidecar: HOST_PROTOCOL_VERSION, host: protocolVersion },
  )
}

/** Resolves when `work` is done, has failed (logged) or has had its time. */
function withDeadline(work: Promise<void>, deadlineMs: number, log: (text: string) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      log(`shutdown did not finish within ${deadlineMs} ms`)
      resolve()
    }, deadlineMs)
    work
      .catch((error: unknown) => log(`shutdown failed: ${error instanceof Error ? error.message : String(error)}`))
      .finally(() => {
        clearTimeout(timer)
        resolve()
      })
  })
}
