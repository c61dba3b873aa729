/* oxlint-disable typescript/no-explicit-any -- what goes over the wire is what is under test */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { AppServerRefusal, type AppServerClient } from '../../testing/app-server-client.ts'
import { memoryClient } from '../../testing/app-server-memory.ts'
import { ScriptedModel } from '../../testing/scripted-model.ts'
import { AppServer } from '../app-server/app-server.ts'
import { HomeRules } from '../app-server/home-rules.ts'
import { sandboxRootsOf } from '../app-server/sandbox-policy.ts'

/** A realtime server that keeps what it hears and says what a test wants. */
class RealtimeServer {
  readonly heard: any[] = []
  readonly upgrades: IncomingMessage[] = []
  readonly calls: { headers: IncomingMessage['headers']; body: string }[] = []
  socket: WebSocket | null = null
  closes: number[] = []
  refuseWith: number | null = null
  private readonly http: Server
  private readonly sockets = new WebSocketServer({ noServer: true })

  constructor() {
    this.http = createServer((request, response) => {
      let body = ''
      request.on('data', (part: Buffer) => (body += part.toString()))
      request.on('end', () => {
        this.calls.push({ headers: request.headers, body })
        response.writeHead(201, { location: '/v1/realtime/calls/rtc_1' }).end('the answer')
      })
    })
    this.http.on('upgrade', (request, socket, head) => {
      this.upgrades.push(request)
      if (this.refuseWith) return void socket.end(`HTTP/1.1 ${this.refuseWith} No\r\nContent-Length: 0\r\n\r\n`)
      this.sockets.handleUpgrade(request, socket, head, (opened) => {
        this.socket = opened
        opened.on('message', (data) => this.heard.push(JSON.parse(String(data))))
        opened.on('close', (code) => this.closes.push(code))
        this.say({ type: 'session.created', session: { id: 'sess_1' } })
      })
    })
  }
  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.http.listen(0, '127.0.0.1', resolve))
    return this
  }
  get baseUrl(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/v1`
  }
  say(event: object): void {
    this.socket!.send(JSON.stringify(event))
  }
  close(): void {
    for (const socket of this.sockets.clients) socket.terminate()
    this.http.close()
  }
}

let home: string
let realtime: RealtimeServer
let model: ScriptedModel
let server: AppServer
let c: AppServerClient
let threadId: string

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'gh-realtime-'))
  realtime = await new RealtimeServer().start()
  model = await ScriptedModel.start({ hello: [[{ say: 'The agent did it.' }]] })
  writeFileSync(
    join(home, 'config.toml'),
    `model = "gpt-5.5"\nmodel_provider = "fake"\nexperimental_realtime_ws_base_url = "${realtime.baseUrl}"\n[model_providers.fake]\nbase_url = "${model.baseUrl}"\nexperimental_bearer_token = "sk-1"\n`,
  )
  server = new AppServer({
    home,
    exec: () => expect.unreachable() as never,
    rules: new HomeRules({ home }),
    sandboxObject: () => null,
    sandboxRoots: sandboxRootsOf,
    shell: { path: '/bin/sh', name: 'sh' },
    log: () => undefined,
  })
  c = await memoryClient(server).open()
  threadId = (await c.call('thread/start', { cwd: home })).thread.id
})
afterEach(async () => {
  await server.close()
  realtime.close()
  model.close()
  rmSync(home, { recursive: true, force: true })
})
const heard = (type: string) => expect.poll(() => realtime.heard.find((event) => event.type === type))
const start = async (params: object = {}) => {
  expect(await c.call('thread/realtime/start', { threadId, outputModality: 'audio', ...params })).toEqual({})
}
const started = () => c.notified('thread/realtime/started')
const refused = (method: string, params: object) =>
  c.call(method, { threadId, ...params }).then(
    () => expect.unreachable(),
    (error: AppServerRefusal) => error.message,
  )

describe('a realtime conversation', () => {
  it('starts with the wishes of the client and what the thread is about', async () => {
    await c.turn(threadId, '[[hello]] paint it blue')
    await start({ voice: 'cedar', model: 'rt-model', prompt: 'Be kind.', realtimeSessionId: 'mine' })
    expect((await started()).params).toEqual({ threadId, realtimeSessionId: 'mine', version: 'v2' })
    const [{ url, headers }] = realtime.upgrades as [IncomingMessage]
    expect([url, headers.authorization, headers['x-session-id']]).toEqual([
      '/v1/realtime?model=rt-model',
      'Bearer sk-1',
      'mine',
    ])
    await heard('session.update').toMatchObject({
      session: {
        type: 'realtime',
        output_modalities: ['audio'],
        audio: { output: { voice: 'cedar', format: { type: 'audio/pcm', rate: 24_000 } } },
        instructions: expect.stringMatching(
          /^Be kind\.[^]*Person: \[\[hello\]\] paint it blue\nAgent: The agent did it\.$/,
        ) as string,
      },
    })
  })

  it('takes audio and words, and hands on what comes back', async () => {
    await start()
    await started()
    const audio = { data: 'AAAA', sampleRate: 24_000, numChannels: 1, samplesPerChannel: 1, itemId: null }
    expect(await c.call('thread/realtime/appendAudio', { threadId, audio })).toEqual({})
    await heard('input_audio_buffer.append').toMatchObject({ audio: 'AAAA' })
    await c.call('thread/realtime/appendText', { threadId, text: 'hello', role: 'user' })
    await heard('conversation.item.create').toMatchObject({
      item: { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    })
    await heard('response.create').toEqual({ type: 'response.create' })
    await c.call('thread/realtime/appendSpeech', { threadId, text: 'spoken words' })
    await expect.poll(() => realtime.heard.at(-1).response?.instructions).toContain('spoken words')
    realtime.say({ type: 'response.output_audio.delta', item_id: 'i1', delta: Buffer.alloc(8).toString('base64') })
    realtime.say({ type: 'response.output_audio_transcript.delta', delta: 'Hel' })
    realtime.say({ type: 'response.output_audio_transcript.done', transcript: 'Hello.' })
    realtime.say({ type: 'conversation.item.input_audio_transcription.completed', transcript: 'Hi there' })
    realtime.say({ type: 'conversation.item.added', item: { id: 'i1', type: 'message' } })
    realtime.say({ type: 'rate_limits.updated' })
    expect((await c.notified('thread/realtime/outputAudio/delta')).params.audio).toEqual({
      data: 'AAAAAAAAAAA=',
      sampleRate: 24_000,
      numChannels: 1,
      samplesPerChannel: 4,
      itemId: 'i1',
    })
    expect((await c.notified('thread/realtime/transcript/delta')).params).toEqual({
      threadId,
      role: 'assistant',
      delta: 'Hel',
    })
    await c.notified('thread/realtime/transcript/done', (p) => p.role === 'assistant' && p.text === 'Hello.')
    await c.notified('thread/realtime/transcript/done', (p) => p.role === 'user' && p.text === 'Hi there')
    expect((await c.notified('thread/realtime/itemAdded')).params.item).toEqual({ id: 'i1', type: 'message' })
  })

  it('hands work over to a turn of the thread and tells the outcome', async () => {
    await start()
    await started()
    const item = {
      type: 'function_call',
      name: 'hand_over',
      call_id: 'call_1',
      arguments: '{"text":"[[hello]] please"}',
    }
    realtime.say({ type: 'response.output_item.done', item })
    const done = await c.notified('turn/completed')
    expect(done.params.turn.status).toBe('completed')
    await heard('conversation.item.create').toEqual({
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: 'call_1', output: 'The agent did it.' },
    })
    await heard('response.create').toEqual({ type: 'response.create' })
  })

  it('ends cleanly when asked, when replaced and with its thread; notes reach the history', async () => {
    await start({ realtimeStartInstructions: 'It speaks now.', realtimeEndInstructions: 'It is quiet again.' })
    await started()
    const from = c.seen.length
    await start()
    expect((await c.notified('thread/realtime/closed', () => true, from)).params.reason).toBe('replaced')
    await c.notified('thread/realtime/started', () => true, from)
    await expect.poll(() => realtime.closes).toEqual([1000])
    const later = c.seen.length
    expect(await c.call('thread/realtime/stop', { threadId })).toEqual({})
    expect((await c.notified('thread/realtime/closed', () => true, later)).params).toEqual({
      threadId,
      reason: 'requested',
    })
    expect(await c.call('thread/realtime/stop', { threadId })).toEqual({})
    await c.turn(threadId, '[[hello]]')
    for (const words of ['It speaks now.', 'It is quiet again.']) expect(model.lastInput).toContain(words)
    await start()
    await c.notified('thread/realtime/started', () => true, later)
    await c.call('thread/archive', { threadId })
    await expect.poll(() => realtime.closes.length).toBe(3)
  })

  it('tells what goes wrong: an error of the server, a refusal, nobody there, a lost connection', async () => {
    await start()
    await started()
    realtime.say({ type: 'error', error: { message: 'no such voice' } })
    expect((await c.notified('thread/realtime/error')).params).toEqual({ threadId, message: 'no such voice' })
    let from = c.seen.length
    realtime.socket!.terminate()
    expect((await c.notified('thread/realtime/closed', () => true, from)).params.reason).toBe('transport_closed')
    expect((await c.notified('thread/realtime/error', () => true, from)).params.message).toContain(
      'closed the connection',
    )
    realtime.refuseWith = 401
    from = c.seen.length
    await start()
    expect((await c.notified('thread/realtime/error', () => true, from)).params.message).toContain('HTTP 401')
    expect((await c.notified('thread/realtime/closed', () => true, from)).params.reason).toBe('error')
    realtime.close()
    from = c.seen.length
    await start()
    expect((await c.notified('thread/realtime/error', () => true, from)).params.message).toContain('cannot be reached')
    await c.notified('thread/realtime/closed', () => true, from)
    expect((await c.turn(threadId, '[[hello]]')).turn.status).toBe('completed')
  })

  it('sets up a call for a client with WebRTC, and joins one that is there', async () => {
    await start({ transport: { type: 'webrtc', sdp: 'the offer' } })
    expect((await c.notified('thread/realtime/sdp')).params).toEqual({ threadId, sdp: 'the answer' })
    await started()
    expect([
      realtime.upgrades[0]!.url,
      realtime.calls[0]!.body.includes('the offer'),
      realtime.calls[0]!.headers.authorization,
    ]).toEqual(['/v1/realtime?call_id=rtc_1', true, 'Bearer sk-1'])
    await start({ transport: { type: 'existingCall', callId: 'rtc_9' } })
    await expect.poll(() => realtime.upgrades[1]?.url).toBe('/v1/realtime?call_id=rtc_9')
  })

  it('refuses by name what cannot be', async () => {
    expect(await refused('thread/realtime/appendText', { text: 'x' })).toContain('start one first')
    expect(await refused('thread/realtime/start', { outputModality: 'smell' })).toContain('outputModality')
    expect(await refused('thread/realtime/start', { outputModality: 'audio', version: 'v9' })).toContain('version')
    expect(await refused('thread/realtime/start', { outputModality: 'audio', voice: 'nobody' })).toContain('voice')
    await start({ outputModality: 'text' })
    await started()
    expect(await refused('thread/realtime/appendSpeech', { text: 'x' })).toContain('no audio output')
    const audio = { data: 'AAAA', sampleRate: 8000, numChannels: 1 }
    expect(await refused('thread/realtime/appendAudio', { audio })).toContain('audio.sampleRate: expected 24000')
  })

  it('is on the timeline: its start, who said what, its end', async () => {
    await start({ realtimeSessionId: 'mine' })
    await started()
    realtime.say({ type: 'response.output_audio_transcript.delta', delta: 'Hel' })
    realtime.say({ type: 'conversation.item.input_audio_transcription.completed', transcript: 'Hi' })
    await c.notified('thread/realtime/transcript/done')
    await c.call('thread/realtime/stop', { threadId })
    await c.notified('thread/realtime/closed')
    const told = c.seen.filter((m) => m.method?.startsWith('thread/realtime/item/'))
    expect(told.map((m) => [m.method!.slice(21), m.params.delta ?? m.params.item.type, m.params.item?.text])).toEqual([
      ['started', 'realtimeSessionStarted', undefined],
      ['completed', 'realtimeSessionStarted', undefined],
      ['started', 'transcriptSegment', ''],
      ['transcript/delta', 'Hel', undefined],
      ['started', 'transcriptSegment', ''],
      ['completed', 'transcriptSegment', 'Hi'],
      ['completed', 'transcriptSegment', 'Hel'],
      ['started', 'realtimeSessionClosed', undefined],
      ['completed', 'realtimeSessionClosed', undefined],
    ])
    expect(told.at(-1)!.params.item).toMatchObject({ outcome: 'ended', realtimeSessionId: 'mine' })
  })

  it('leaves tasks to a client that wants them', async () => {
    await start({ version: 'v1', clientManagedHandoffs: true })
    await started()
    realtime.say({ type: 'conversation.handoff.requested', handoff_id: 'h1', item_id: 'i2', input_transcript: 'do it' })
    const { params } = await c.notified('thread/realtime/itemAdded')
    expect(params.item).toEqual({
      type: 'handoff_request',
      handoff_id: 'h1',
      item_id: 'i2',
      input_transcript: 'do it',
      active_transcript: [{ role: 'user', text: 'do it' }],
    })
    await c.call('thread/realtime/appendSpeech', { threadId, text: 'done' })
    await heard('conversation.handoff.append').toMatchObject({ handoff_id: 'codex', output_text: 'done' })
    expect(model.requests).toEqual([])
  })

  it('speaks version 1', async () => {
    await start({ version: 'v1' })
    expect((await started()).params.version).toBe('v1')
    const [{ url, headers }] = realtime.upgrades as [IncomingMessage]
    expect([url, headers['openai-alpha']]).toEqual([
      '/v1/realtime?intent=quicksilver&model=gpt-realtime-1.5',
      'quicksilver=v1',
    ])
    await heard('session.update').toMatchObject({
      session: {
        type: 'quicksilver',
        audio: { input: { format: { type: 'audio/pcm', rate: 24_000 } }, output: { voice: 'cove' } },
      },
    })
    await c.call('thread/realtime/appendText', { threadId, text: 'a note', role: 'developer' })
    await heard('conversation.item.create').toMatchObject({
      item: { role: 'developer', content: [{ type: 'input_text', text: 'a note' }] },
    })
    realtime.say({ type: 'conversation.output_audio.delta', delta: 'AQID', sample_rate: 16_000, channels: 2 })
    realtime.say({ type: 'conversation.input_transcript.delta', delta: 'please ' })
    realtime.say({ type: 'conversation.output_transcript.delta', delta: 'sure ' })
    expect((await c.notified('thread/realtime/outputAudio/delta')).params.audio).toMatchObject({
      data: 'AQID',
      sampleRate: 16_000,
      numChannels: 2,
    })
    realtime.say({
      type: 'conversation.handoff.requested',
      handoff_id: 'h1',
      item_id: 'i',
      input_transcript: '[[hello]]',
    })
    await heard('conversation.handoff.append').toEqual({
      type: 'conversation.handoff.append',
      handoff_id: 'h1',
      output_text: '"Agent Final Message":\n\nThe agent did it.',
    })
    const { item } = (await c.notified('thread/realtime/itemAdded')).params
    expect(item.active_transcript.map((e: any) => e.text)).toEqual(['please ', 'sure ', '[[hello]]'])
    await start({ version: 'v1', transport: { type: 'webrtc', sdp: 'the offer' } })
    await expect.poll(() => realtime.upgrades[1]?.url).toBe('/v1/realtime?intent=quicksilver&call_id=rtc_1')
  })

  it('speaks version 3', async () => {
    const initialItems = [
      { role: 'user', text: 'before' },
      { role: 'assistant', text: 'yes' },
    ]
    await start({ version: 'v3', initialItems })
    expect((await started()).params.version).toBe('v3')
    const [{ url, headers }] = realtime.upgrades as [IncomingMessage]
    expect([url, headers['openai-alpha']]).toEqual(['/v1/live?model=gpt-live-1.1-codex', 'quicksilver=v2'])
    const said = (role: string, type: string, text: string) => ({ type: 'message', role, content: [{ type, text }] })
    await heard('session.update').toMatchObject({
      session: {
        audio: { output: { voice: 'marin' } },
        delegation: { type: 'client' },
        initial_items: [said('user', 'input_text', 'before'), said('assistant', 'output_text', 'yes')],
      },
    })
    const audio = { data: 'AAAA', sampleRate: 24_000, numChannels: 1 }
    await c.call('thread/realtime/appendAudio', { threadId, audio })
    await heard('input_audio.append').toMatchObject({ audio: 'AAAA' })
    await c.call('thread/realtime/appendSpeech', { threadId, text: 'ü'.repeat(300) })
    const context = () => realtime.heard.filter((event) => event.type === 'session.context.append')
    await expect.poll(() => context().length).toBe(2)
    expect(context().map((event) => [event.channel, event.content[0].text.length])).toEqual([
      ['speakable', 250],
      ['speakable', 50],
    ])
    realtime.say({ type: 'output_audio.delta', delta: 'AQID' })
    realtime.say({ type: 'input_transcript.added', item: { id: 'a', text: 'please' } })
    realtime.say({ type: 'output_transcript.added', item: { id: 'b', text: 'sure' } })
    await c.notified('thread/realtime/outputAudio/delta', (p) => p.audio.data === 'AQID')
    await c.notified('thread/realtime/transcript/delta', (p) => p.role === 'assistant' && p.delta === 'sure')
    const task = { id: 'd0', type: 'delegation', target: 'server', content: [{ type: 'input_text', text: 'not ours' }] }
    realtime.say({ type: 'delegation.created', item: task })
    const ours = { ...task, id: 'd1', target: 'client', content: [{ type: 'input_text', text: '[[hello]]' }] }
    realtime.say({ type: 'delegation.created', item: ours })
    await heard('delegation.context.append').toEqual({
      type: 'delegation.context.append',
      delegation_item_id: 'd1',
      content: [{ type: 'input_text', text: 'The agent did it.' }],
    })
    await c.call('thread/realtime/stop', { threadId })
    await heard('session.close').toEqual({ type: 'session.close' })
    await start({ version: 'v3', transport: { type: 'existingCall', callId: 'rtc_9' } })
    await expect.poll(() => realtime.upgrades[1]?.url).toBe('/v1/live/rtc_9')
    expect(await refused('thread/realtime/start', { outputModality: 'audio', initialItems })).toContain(
      'only version v3',
    )
    const many = { outputModality: 'audio', version: 'v3', initialItems: Array(129).fill(initialItems[0]) }
    expect(await refused('thread/realtime/start', many)).toContain('at most 128')
    const long = { outputModality: 'audio', version: 'v3', initialItems: [{ role: 'user', text: 'x'.repeat(40_000) }] }
    expect(await refused('thread/realtime/start', long)).toContain('at most 8192')
    expect(
      await refused('thread/realtime/start', { outputModality: 'audio', version: 'v3', voice: 'cedar' }),
    ).toContain('voice')
  })

  it('lists its voices without a network', async () => {
    const { voices } = await c.call('thread/realtime/listVoices')
    expect([voices.defaultV2, voices.v2.includes('marin'), realtime.upgrades]).toEqual(['marin', true, []])
  })
})
