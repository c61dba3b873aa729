/** Answers of the proxy itself that are no refusals: the client's mistake, or a hop that failed. */

const PHRASES: Record<number, string> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  431: 'Request Header Fields Too Large',
  501: 'Not Implemented',
  502: 'Bad Gateway',
}
const CODES: Record<number, string> = { 502: 'upstream-failure' }

/** A complete response with one readable line. `problem` is a sentence part of ours, never bytes of a client. */
export function errorResponse(status: number, problem: string, keepAlive: boolean): Buffer {
  const body = Buffer.from(`Gatehouse proxy: ${problem}.\n`)
  const head =
    `HTTP/1.1 ${status} ${PHRASES[status] ?? 'Error'}\r\ncontent-type: text/plain; charset=utf-8\r\n` +
    `x-proxy-error: ${CODES[status] ?? 'bad-request'}\r\ncontent-length: ${body.length}\r\n` +
    `${keepAlive ? '' : 'connection: close\r\n'}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}
