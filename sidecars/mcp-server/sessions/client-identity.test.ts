import { expect, test } from 'vitest'
import { clientOf } from './client-identity.ts'

const envelope = (info?: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  ...(info ? { 'io.modelcontextprotocol/clientInfo': info } : {}),
})

test('the handshake and the envelope of any request name the client', () => {
  expect(
    clientOf({ method: 'initialize', params: { clientInfo: { name: 'codex', title: 'Codex', version: '0.171.0' } } }),
  ).toEqual({ name: 'Codex', version: '0.171.0' })
  expect(
    clientOf({ method: 'tools/list', params: { _meta: envelope({ name: 'claude-code', version: '2' }) } }),
  ).toEqual({
    name: 'claude-code',
    version: '2',
  })
})

test('a probe and a message that says nothing open no session', () => {
  expect(clientOf({ method: 'server/discover', params: { _meta: envelope({ name: 'x', version: '1' }) } })).toBeNull()
  expect(clientOf({ method: 'tools/list' })).toBeNull()
  expect(clientOf({ result: {} })).toBeNull()
  expect(clientOf(null)).toBeNull()
})

test('a client without a usable name is called so, and a name of any length is cut', () => {
  expect(clientOf({ method: 'tools/call', params: { _meta: envelope() } })).toEqual({ name: 'unnamed MCP client' })
  expect(clientOf({ method: 'initialize', params: { clientInfo: { name: ' ', version: 7 } } })).toEqual({
    name: 'unnamed MCP client',
  })
  expect(clientOf({ method: 'initialize', params: { clientInfo: { name: 'x'.repeat(500) } } })?.name).toHaveLength(120)
})
