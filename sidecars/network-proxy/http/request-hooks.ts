/** Where requests that may pass are changed, or refused after all, because of what is in them. */
import type { Refusal } from '../policy/refusal.ts'
import type { RequestHead } from './request-head.ts'
import type { RequestTarget } from './request-target.ts'
import type { ResponseHead } from './response-head.ts'

export type HookedHead =
  | {
      refusal?: undefined
      /** Lower-case names of fields that were put in. */
      injected: readonly string[]
      /** Sees, and may change, each head of the answer before the client does. */
      onResponse: ((head: Pick<ResponseHead, 'fields'>) => void) | undefined
    }
  | { refusal: Refusal }

export interface RequestHooks {
  /** Changes the head's fields in place. @throws MalformedHttp */
  apply(head: Pick<RequestHead, 'method' | 'fields'>, target: RequestTarget): HookedHead
}
