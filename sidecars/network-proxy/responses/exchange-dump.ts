/** Requests and responses of the responses proxy on disk, for debugging, with credentials blacked out. */
import { mkdirSync, openSync, writeSync, closeSync } from 'node:fs'
import { join } from 'node:path'

export interface DumpHeader {
  name: string
  value: string
}

const REDACTED = '[REDACTED]'
const SECRET_NAME = /authorization|cookie|api-?key|token|secret|password/i

/** True for headers whose value never goes to disk. */
export function isSecretHeader(name: string): boolean {
  return SECRET_NAME.test(name)
}

export class ExchangeDumps {
  private sequence = 0

  /** Creates `folder` (0700). @throws when it cannot be made */
  constructor(
    private readonly folder: string,
    private readonly onProblem: (problem: string) => void,
  ) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** Writes the request; the function returned writes its response. Neither ever throws. */
  begin(request: {
    method: string
    url: string
    headers: DumpHeader[]
    body: Buffer
  }): (response: { status: number; headers: DumpHeader[]; body: Buffer }) => void {
    const name = `${String(++this.sequence).padStart(6, '0')}-${Date.now()}`
    this.write(`${name}-request.json`, { ...request, headers: redact(request.headers), body: readable(request.body) })
    return ({ status, headers, body }) =>
      this.write(`${name}-response.json`, { status, headers: redact(headers), body: readable(body) })
  }

  private write(name: string, content: unknown): void {
    try {
      const file = openSync(join(this.folder, name), 'wx', 0o600)
      try {
        writeSync(file, `${JSON.stringify(content, null, 2)}\n`)
      } finally {
        closeSync(file)
      }
    } catch (error) {
      this.onProblem(`dump ${name}: ${(error as Error).message}`)
    }
  }
}

function redact(headers: DumpHeader[]): DumpHeader[] {
  return headers.map(({ name, value }) => ({ name, value: isSecretHeader(name) ? REDACTED : value }))
}

/** Parsed JSON where it is JSON, text otherwise. */
function readable(body: Buffer): unknown {
  const text = body.toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
