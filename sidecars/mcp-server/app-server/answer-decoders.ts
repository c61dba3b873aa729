/** Reads the answers of clients. What cannot be read is null, which every asker takes for "no". */
import {
  array,
  boolean,
  decode,
  DecodeError,
  literal,
  nullable,
  object,
  optional,
  record,
  string,
  unknown,
  withDefault,
  type Decoder,
} from '../../protocol/decode.ts'
import type {
  CommandDecision,
  ServerRequestMap,
  ServerRequestMethod,
} from '../../protocol/app-server/server-requests.ts'

const commandDecision: Decoder<CommandDecision> = (value, path) => {
  if (typeof value === 'string') return literal('accept', 'acceptForSession', 'decline', 'cancel')(value, path)
  const amendment = object({
    acceptWithExecpolicyAmendment: optional(object({ execpolicy_amendment: array(string) })),
  })(value, path).acceptWithExecpolicyAmendment
  if (amendment) return { acceptWithExecpolicyAmendment: amendment }
  const host = object({ host: string, action: literal('allow', 'deny') })
  const network = object({ applyNetworkPolicyAmendment: object({ network_policy_amendment: host }) })(value, path)
  return network
}
const permissions = object({
  network: optional(object({ enabled: nullable(boolean) })),
  fileSystem: optional(
    object({
      read: optional(array(string)),
      write: optional(array(string)),
      entries: optional(array(object({ path: unknown, access: string }))),
    }),
  ),
})

const DECODERS: { [M in ServerRequestMethod]: Decoder<ServerRequestMap[M]['answer']> } = {
  'item/commandExecution/requestApproval': object({ decision: commandDecision }),
  'item/fileChange/requestApproval': object({ decision: literal('accept', 'acceptForSession', 'decline', 'cancel') }),
  'item/tool/requestUserInput': object({ answers: record(object({ answers: array(string) })) }),
  'mcpServer/elicitation/request': object({
    action: literal('accept', 'decline', 'cancel'),
    content: unknown,
    _meta: unknown,
  }) as Decoder<ServerRequestMap['mcpServer/elicitation/request']['answer']>,
  'item/permissions/requestApproval': object({
    permissions: withDefault(permissions, {}),
    scope: withDefault(literal('turn', 'session'), 'turn' as const),
    strictAutoReview: optional(boolean),
  }) as Decoder<ServerRequestMap['item/permissions/requestApproval']['answer']>,
  'item/tool/call': object({ contentItems: withDefault(array(unknown), []), success: boolean }),
}

export function decodeAnswer<M extends ServerRequestMethod>(
  method: M,
  result: unknown,
): ServerRequestMap[M]['answer'] | null {
  try {
    return decode<ServerRequestMap[M]['answer']>(
      DECODERS[method] as Decoder<ServerRequestMap[M]['answer']>,
      result,
      'answer',
    )
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}
