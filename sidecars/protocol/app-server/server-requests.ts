/** Requests that the server sends to its clients (app-server v2): method -> params and answer. */
import type { Subject } from '../subject.ts'
import type { CommandAction } from './thread-item.ts'

export type CommandDecision =
  | 'accept'
  | 'acceptForSession'
  | { acceptWithExecpolicyAmendment: { execpolicy_amendment: string[] } }
  | { applyNetworkPolicyAmendment: { network_policy_amendment: { host: string; action: 'allow' | 'deny' } } }
  | 'decline'
  | 'cancel'
export type FileChangeDecision = 'accept' | 'acceptForSession' | 'decline' | 'cancel'

interface OfItem {
  threadId: string
  turnId: string
  itemId: string
}

/** What the owner says to the model with a no. Only Gatehouse's own Inbox can; the wire has no such member. */
interface Words {
  words?: string
}

export interface FileSystemPermissions {
  read?: string[]
  write?: string[]
  entries?: { path: unknown; access: string }[]
}
export interface AdditionalPermissions {
  network?: { enabled: boolean | null } | null
  fileSystem?: FileSystemPermissions | null
}

export interface ServerRequestMap {
  'item/commandExecution/requestApproval': {
    params: OfItem & {
      kind: 'command' | 'humanCommand' | 'writeStdin'
      startedAtMs: number
      environmentId: string
      reason: string | null
      command?: string
      cwd?: string
      commandActions?: CommandAction[]
      approvalId?: string | null
      networkApprovalContext?: { host: string; protocol: 'http' | 'https' | 'socks5Tcp' | 'socks5Udp' }
      additionalPermissions?: AdditionalPermissions
      proposedExecpolicyAmendment?: string[]
      proposedNetworkPolicyAmendments?: { host: string; action: 'allow' | 'deny' }[]
      availableDecisions: CommandDecision[]
    }
    answer: { decision: CommandDecision } & Words
  }
  'item/fileChange/requestApproval': {
    params: OfItem & { startedAtMs: number; reason: string | null; grantRoot: string | null }
    answer: { decision: FileChangeDecision } & Words
  }
  'item/tool/requestUserInput': {
    params: OfItem & {
      questions: {
        id: string
        header: string
        question: string
        isOther: boolean
        isSecret: boolean
        options: { label: string; description: string }[] | null
      }[]
      isBlocking: boolean
      autoResolutionMs: number | null
    }
    answer: { answers: Record<string, { answers: string[] }> } & Words
  }
  'mcpServer/elicitation/request': {
    params: {
      threadId: string
      turnId: string | null
      serverName: string
      environmentId: string | null
      mode: string
      message: string
      _meta: unknown
      [member: string]: unknown
    }
    answer: { action: 'accept' | 'decline' | 'cancel'; content: unknown; _meta: unknown } & Words
  }
  'item/permissions/requestApproval': {
    params: OfItem & {
      environmentId: string
      startedAtMs: number
      cwd: string
      reason: string | null
      permissions: AdditionalPermissions
    }
    answer: { permissions: AdditionalPermissions; scope: 'turn' | 'session'; strictAutoReview?: boolean } & Words
  }
  'item/tool/call': {
    params: {
      threadId: string
      turnId: string
      callId: string
      namespace: string | null
      tool: string
      arguments: unknown
    }
    answer: { contentItems: unknown[]; success: boolean }
  }
}
export type ServerRequestMethod = keyof ServerRequestMap

/** Thrown to the asker when nobody answered properly; never a yes. */
export type AskFailure = 'withdrawn' | 'client-error' | 'undecodable'

export interface AskOptions {
  threadId: string
  signal: AbortSignal
  /** Resolves when the turn that asks has ended and that was told. */
  turnEnds?: Promise<void>
  /** Exactly what is done on a yes, where the params only describe it. */
  subject?: Subject
  /** Last words of the same command when its sandbox refused it. */
  refused?: string
}

export interface ClientRequests {
  /**
   * Asks every subscriber of the thread under one id; the first proper answer wins and everyone asked is
   * told (`serverRequest/resolved`). Subscribers that join later are asked too. Aborting withdraws.
   * Rejects with an Error whose `failure` is an AskFailure.
   */
  ask<M extends ServerRequestMethod>(
    method: M,
    params: ServerRequestMap[M]['params'],
    options: AskOptions,
  ): Promise<ServerRequestMap[M]['answer']>
}
