/**
 * A model server for tests: speaks the Responses API over real HTTP and says what a script tells it.
 * A tag such as `[[name]]` in the newest user message picks the script, the number of tool outputs
 * behind it picks the step.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ModelStep =
  | { say: string; pieces?: number; gapMs?: number }
  | { think: string }
  | { call: string; args: unknown; namespace?: string }
  | { custom: string; input: string }
  /** Says nothing more until the client goes away. */
  | { hang: true }
  | { drop: true }
  | { status: number; body?: unknown }
  | { usage: number }
  /** Ends the response with this error. */
  | { fail: string; message: string }
/** By step, or made anew for each request: how often this place was asked for, and the tool outputs so far. */
export type ModelScript = ModelStep[][] | ((attempt: number, outputs: string[]) => ModelStep[])

export interface ModelRequest {
  body: { input: Record<string, unknown>[]; [member: string]: unknown }
  script: string
  closedByClient: boolean
}

export class ScriptedModel {
  readonly requests: ModelRequest[] = []
  private readonly attempts = new Map<string, number>()
  private readonly server: Server
  private nextId = 1

  private constructor(private readonly scripts: Record<string, ModelScript>) {
    this.server = createServer((request, response) => void this.answer(request, response))
  }

  static async start(scripts: Record<string, ModelScript>): Promise<ScriptedModel> {
    const model = new ScriptedModel(scripts)
    await new Promise<void>((resolve) => model.server.listen(0, '127.0.0.1', resolve))
    return model
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`
  }

  /** Texts of the last request's input, for assertions on what the model was told. */
  get lastInput(): string {
    return JSON.stringify(this.requests.at(-1)?.body.input)
  }

  /** Scripts that count their attempts begin again. */
  forgetAttempts(): void {
    this.attempts.clear()
  }

  close(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return this.answerModels(request, response)
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const body = JSON.parse(text) as ModelRequest['body']
    const { script, outputs } = place(body.input)
    const seen: ModelRequest = { body, script, closedByClient: false }
    this.requests.push(seen)
    let finished = false
    response.on('close', () => (seen.closedByClient = !finished))
    const key = `${script}:${outputs.length}`
    const attempt = (this.attempts.get(key) ?? 0) + 1
    this.attempts.set(key, attempt)
    const steps = this.stepsOf(script, outputs, attempt)
    const refusal = steps.find((step): step is { status: number; body?: unknown } => 'status' in step)
    if (refusal) {
      response.writeHead(refusal.status).end(JSON.stringify(refusal.body ?? {}))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    const send = (event: Record<string, unknown>) => response.write(`data: ${JSON.stringify(event)}\n\n`)
    let tokens = 110
    for (const step of steps) {
      if ('hang' in step) return
      // What was said before still arrives.
      if ('drop' in step) return request.socket.destroySoon()
      if ('fail' in step) {
        finished = true
        send({ type: 'response.failed', response: { id: 'r', error: { code: step.fail, message: step.message } } })
        return void response.end()
      }
      if ('usage' in step) tokens = step.usage
      else await this.sendItem(step, send, seen)
      if (seen.closedByClient) return
    }
    finished = true
    send({
      type: 'response.completed',
      response: { id: 'r', usage: { input_tokens: tokens - 10, output_tokens: 10, total_tokens: tokens } },
    })
    response.end()
  }

  private answerModels({ url, headers }: IncomingMessage, response: ServerResponse): void {
    const isKnown = url === '/v1/models' && headers.authorization !== 'Bearer wrong'
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isKnown ? { data: [{ id: 'scripted-small' }, { id: 'scripted-model' }] } : {}))
  }

  private stepsOf(name: string, outputs: string[], attempt: number): ModelStep[] {
    const script = this.scripts[name]
    if (!script) return [{ say: `(no script ${name})` }]
    return typeof script === 'function'
      ? script(attempt, outputs)
      : script[Math.min(outputs.length, script.length - 1)]!
  }

  private async sendItem(
    step: ModelStep,
    send: (event: Record<string, unknown>) => void,
    seen: ModelRequest,
  ): Promise<void> {
    const id = `i${this.nextId++}`
    if ('say' in step) {
      send({ type: 'response.output_item.added', item: { type: 'message', role: 'assistant', id, content: [] } })
      const size = Math.ceil(step.say.length / (step.pieces ?? 3))
      for (let at = 0; at < step.say.length; at += size) {
        send({ type: 'response.output_text.delta', item_id: id, delta: step.say.slice(at, at + size) })
        if (step.gapMs) await new Promise((resolve) => setTimeout(resolve, step.gapMs))
        if (seen.closedByClient) return
      }
      send({
        type: 'response.output_item.done',
        item: { type: 'message', role: 'assistant', id, content: [{ type: 'output_text', text: step.say }] },
      })
    } else if ('think' in step) {
      const item = {
        type: 'reasoning',
        id,
        summary: [{ type: 'summary_text', text: step.think }],
        encrypted_content: 'opaque',
      }
      send({ type: 'response.output_item.added', item: { ...item, summary: [] } })
      send({ type: 'response.output_item.done', item })
    } else if ('call' in step) {
      const args = typeof step.args === 'string' ? step.args : JSON.stringify(step.args)
      send({
        type: 'response.output_item.done',
        item: {
          type: 'function_call',
          id,
          call_id: `call_${id}`,
          name: step.call,
          arguments: args,
          ...(step.namespace ? { namespace: step.namespace } : {}),
        },
      })
    } else if ('custom' in step) {
      send({
        type: 'response.output_item.done',
        item: { type: 'custom_tool_call', id, call_id: `call_${id}`, name: step.custom, input: step.input },
      })
    }
  }
}

function place(input: readonly Record<string, unknown>[]): { script: string; outputs: string[] } {
  const at = input.findLastIndex((item) => item.role === 'user' && /\[\[(\w+)\]\]/.test(JSON.stringify(item.content)))
  const tags = [...JSON.stringify(input[at]?.content ?? '').matchAll(/\[\[(\w+)\]\]/g)]
  const outputs = input
    .slice(at + 1)
    .filter((item) => String(item.type).endsWith('_output'))
    .map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)))
  return { script: tags.at(-1)?.[1] ?? 'none', outputs }
}
