/** Branded identifiers: never pass a bare string where one of these is meant. */
import { string, type Decoder } from './decode.ts'

declare const brand: unique symbol
export type Id<Kind extends string> = string & { readonly [brand]: Kind }

/** One attached client's or the owner's line of work, e.g. `ses_7f3a…`. */
export type SessionId = Id<'session'>
/** A process known to the host; unique over all sidecar generations, e.g. `prc_…`. */
export type ProcessId = Id<'process'>
/** A question waiting for a decision, e.g. `req_…`. */
export type RequestId = Id<'request'>
/** A network connection seen by the proxy, e.g. `con_…`. */
export type ConnectionId = Id<'connection'>
/** A rule; stable while its text is unchanged, e.g. `rul_…`. */
export type RuleId = Id<'rule'>
/** A proxy credential that names one process. */
export type LeaseId = Id<'lease'>

const id = <T extends string>(): Decoder<T> => string as unknown as Decoder<T>
export const sessionId = id<SessionId>()
export const processId = id<ProcessId>()
export const requestId = id<RequestId>()
export const connectionId = id<ConnectionId>()
export const ruleId = id<RuleId>()
export const leaseId = id<LeaseId>()

/** The session of connections that bring no valid lease: nothing that Gatehouse started. Session rules never match it. */
export const UNKNOWN_SESSION = 'unknown' as SessionId

const THREAD_SESSION = /^ses_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

/** The session that a thread of Gatehouse's own is to the rest of the house: the same after every restart. */
export const sessionOfThread = (threadId: string): SessionId => `ses_${threadId}` as SessionId
/** The thread behind such a session; null for sessions of other agents. */
export const threadOfSession = (id: string): string | null => THREAD_SESSION.exec(id)?.[1] ?? null
