/** Hooks in force, applied to requests of either HTTP version. */
import type { HookedHead, RequestHooks } from '../http/request-hooks.ts'
import type { RequestHead } from '../http/request-head.ts'
import type { RequestTarget } from '../http/request-target.ts'
import type { HookTable } from './hook-table.ts'
import { removeEchoes } from './secret-echo.ts'

const UNTOUCHED: HookedHead = Object.freeze({
  injected: [],
  path: undefined,
  bodyWork: undefined,
  onResponse: undefined,
})

export class HookRunner implements RequestHooks {
  constructor(private readonly table: () => HookTable) {}

  apply({ method, fields }: Pick<RequestHead, 'method' | 'fields'>, target: RequestTarget): HookedHead {
    const { host, port, path } = target
    const outcome = this.table().apply({ host, port, scheme: target.tls ? 'https' : 'http', method, path, fields })
    if (outcome.kind === 'refused') return { refusal: outcome.refusal }
    if (outcome.kind === 'free') return UNTOUCHED
    const { injected, secrets, path: newPath, bodyWork } = outcome
    return {
      injected,
      path: newPath,
      bodyWork,
      onResponse: secrets.length === 0 ? undefined : (head) => removeEchoes(head.fields, secrets),
    }
  }
}
