// A stand-in for the model behind the Codex CLI: speaks as much of the Responses API as `codex exec`
// needs and plays one scripted step for each request. Loopback only; nothing is learned or sent on.
import { createServer } from 'node:http'

/**
 * A step is `{ say }`, or `{ tool, args, namespace? }` where `args` may be a function of the tool
 * outputs so far.
 */
export async function startScriptedModel(steps) {
  const outputs = []
  const images = []
  let played = 0
  const server = createServer((request, response) => {
    const parts = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      if (request.method === 'GET') return json(response, { object: 'list', data: [], models: [] })
      const { input = [] } = JSON.parse(Buffer.concat(parts).toString() || '{}')
      for (const item of input) remember(item, outputs, images)
      play(response, steps[played] ?? { say: 'the script is over' }, played++, outputs)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    /** What the tools answered, in order. */
    outputs,
    /** Data URLs of images that were shown to the model. */
    images,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function json(response, value) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** Requests repeat the whole conversation; each tool output counts once. */
function remember(item, outputs, images) {
  if (item.type === 'function_call_output' && !outputs.some((output) => output.callId === item.call_id))
    outputs.push({
      callId: item.call_id,
      text: typeof item.output === 'string' ? item.output : JSON.stringify(item.output),
    })
  for (const url of JSON.stringify(item).match(/data:image\/[^"\\]+/g) ?? []) images.push(url)
}

function play(response, step, index, outputs) {
  const item =
    step.say === undefined
      ? {
          type: 'function_call',
          id: `fc_${index}`,
          call_id: `call_${index}`,
          status: 'completed',
          name: step.tool,
          ...(step.namespace ? { namespace: step.namespace } : {}),
          arguments: JSON.stringify(typeof step.args === 'function' ? step.args(outputs) : step.args),
        }
      : {
          type: 'message',
          id: `msg_${index}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: step.say, annotations: [] }],
        }
  const head = { id: `resp_${index}`, object: 'response' }
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (type, body) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...body })}\n\n`)
  send('response.created', { response: { ...head, status: 'in_progress', output: [] } })
  send('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress' } })
  send('response.output_item.done', { output_index: 0, item })
  send('response.completed', { response: { ...head, status: 'completed', output: [item], usage } })
  response.end()
}
