import { PassThrough, type Readable, type Writable } from 'node:stream'
import { Client, type ClientOptions } from '@modelcontextprotocol/client'
import { LineCarrier } from '../mcp-server/attach/line-carrier.ts'

/** The two protocol eras: with a handshake, and without. */
export const ERAS = ['legacy', 'modern'] as const
export type Era = (typeof ERAS)[number]

/** How the SDK's client is told which era to speak. */
export function eraOptions(era: Era): Pick<ClientOptions, 'versionNegotiation'> {
  return { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } } }
}

export const TEST_CLIENT = { name: 'line-agent', title: 'Line Agent', version: '3.1.0' }

/** Connects the SDK's own client over a pair of byte streams (a socket goes in twice). */
export async function connectLines(
  input: Readable,
  output: Writable,
  era: Era,
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client(TEST_CLIENT, { ...eraOptions(era), ...options })
  await client.connect(new LineCarrier(input, output))
  return client
}

/** Two byte streams that are each other's ends. */
export function streamPair(): {
  near: { input: Readable; output: Writable }
  far: { input: Readable; output: Writable }
} {
  const there = new PassThrough()
  const back = new PassThrough()
  return { near: { input: back, output: there }, far: { input: there, output: back } }
}

/** Text of a tool result. */
export function textOf(result: unknown): string {
  const { content } = result as { content: { type: string; text?: string }[] }
  return content.map(({ text }) => text ?? '').join('\n')
}

/** Facts of a tool result. */
export function factsOf(result: unknown): Record<string, unknown> {
  return (result as { structuredContent?: Record<string, unknown> }).structuredContent ?? {}
}
