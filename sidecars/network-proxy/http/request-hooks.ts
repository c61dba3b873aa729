/** Where requests that may pass are changed, or refused after all, because of what is in them. */
import type { Refusal } from '../policy/refusal.ts'
import type { RequestHead } from './request-head.ts'
import type { RequestTarget } from './request-target.ts'
import type { ResponseHead } from './response-head.ts'

/** What has to happen to a body before anything of its request is sent. */
export interface BodyWork {
  /** A larger body is refused. */
  maxBytes: number
  /** Changes the head's fields; gives what goes out, and a path that replaces the head's. @throws BodyRefused */
  finish(body: Buffer): { body: Buffer; path: string | undefined }
}

export type HookedHead =
  | {
      refusal?: undefined
      /** Lower-case names of fields that were put in. */
      injected: readonly string[]
      /** Replaces the target's path, when a signature in it was made anew. */
      path: string | undefined
      bodyWork: BodyWork | undefined
      /** Sees, and may change, each head of the answer before the client does. */
      onResponse: ((head: Pick<ResponseHead, 'fields'>) => void) | undefined
    }
  | { refusal: Refusal }

export interface RequestHooks {
  /** Changes the head's fields in place. @throws MalformedHttp */
  apply(head: Pick<RequestHead, 'method' | 'fields'>, target: RequestTarget): HookedHead
}
