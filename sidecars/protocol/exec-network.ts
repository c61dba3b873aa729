/**
 * The exec server's wire, part 6: a network proxy for one process. `process/start` carries its settings,
 * `network/policyRequest` asks the client about a host, `network/policyDecision` tells what was decided.
 */
import { verdict } from './decision.ts'
import {
  array,
  boolean,
  integer,
  literal,
  object,
  optional,
  record,
  string,
  unknown,
  variant,
  type Infer,
} from './decode.ts'

/** `networkProxy` of process/start: the executor runs a proxy on loopback for this process alone. */
export const networkProxyLaunch = object({
  proxy: object({
    /** Nothing else than true makes sense in a launch. */
    enabled: boolean,
    enableSocks5: boolean,
    enableSocks5Udp: boolean,
    /** A proxy named by the executor's own environment may be used on the way out. */
    allowUpstreamProxy: boolean,
    dangerouslyAllowAllUnixSockets: boolean,
    /** limited: reading methods only, inside HTTPS too. */
    mode: literal('limited', 'full'),
    /** Local and private addresses may be reached. */
    allowLocalBinding: boolean,
    /** Host pattern to verdict; `none`: as if it were not there. */
    domains: optional(record(literal('none', 'allow', 'deny'))),
    /** Absolute path to verdict. */
    unixSockets: optional(record(verdict)),
    /** Hosts that the client is asked about although `domains` allows them. */
    reviewDomains: optional(array(string)),
    transparentTcp: optional(boolean),
    credentialProviders: optional(record(unknown)),
  }),
  /** Who the client is, for its own records; nothing of it is kept here. */
  auditMetadata: optional(unknown),
  environmentId: optional(string),
  executionId: optional(string),
  /** How long the client may think about one host; absent = it is never asked. */
  policyDecisionTimeoutMs: optional(integer(1)),
})
export type NetworkProxyLaunch = Infer<typeof networkProxyLaunch>

/** `network/policyRequest` (server -> client) -> {@link policyReply} */
export const policyRequest = object({
  processId: string,
  request: object({
    protocol: literal('http', 'https_connect', 'socks5_tcp', 'socks5_udp'),
    host: string,
    port: integer(0, 65535),
  }),
})
export type PolicyRequest = Infer<typeof policyRequest>
/** `ask`: refused now; the client's owner is asked, and the program may try again. */
export const policyReply = object({
  decision: variant('type', {
    allow: object({}),
    deny: object({ reason: string }),
    ask: object({ reason: string }),
  }),
})
export type PolicyReply = Infer<typeof policyReply>['decision']

/** `network/policyDecision` (server -> client): one decision of the proxy, told without waiting. */
export const policyDecision = object({
  processId: string,
  /** RFC 3339 with milliseconds, UTC. */
  timestamp: string,
  scope: string,
  decision: literal('allow', 'deny', 'ask'),
  source: string,
  reason: string,
  protocol: string,
  host: string,
  port: integer(0, 65535),
  method: optional(string),
  client: optional(string),
  /** The client allowed what `domains` did not. */
  policyOverride: boolean,
})
export type PolicyDecision = Infer<typeof policyDecision>
