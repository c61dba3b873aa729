import { object, string } from '../../protocol/decode.ts'
import { httpRequestParams } from '../../protocol/exec-http.ts'
import type { MethodTable } from '../wire/method-table.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import type { Environment } from './http-call.ts'

export interface HttpMethodOptions {
  /** For `valueEnvVar` and the proxy variables; asked at each request. Default: this process's. */
  environment?: () => Environment
}

/** Puts `http/request` and our own `http/cancel` on a server's table. */
export function registerHttpMethods(table: MethodTable, options: HttpMethodOptions = {}): void {
  const environment = options.environment ?? (() => process.env)
  const requestsOf = async (connection: WireConnection) => {
    // Loaded when first asked for: TLS and decompression weigh megabytes, most servers never use them.
    const { HttpRequests } = await import('./http-requests.ts')
    return connection.resource(HttpRequests, () => new HttpRequests())
  }
  table.register('http/request', 'http', httpRequestParams, async (params, connection) =>
    (await requestsOf(connection)).run(params, environment(), connection),
  )
  // The reference has no such method: its clients end a request by hanging up.
  table.register('http/cancel', 'http', object({ requestId: string }), async ({ requestId }, connection) => {
    ;(await requestsOf(connection)).cancel(requestId)
    return {}
  })
}
