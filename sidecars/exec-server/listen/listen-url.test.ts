import { describe, expect, it } from 'vitest'
import { parseListenUrl } from './listen-url.ts'

describe('--listen', () => {
  it.each([
    ['stdio', { kind: 'stdio' }],
    ['stdio://', { kind: 'stdio' }],
    ['ws://127.0.0.1:0', { kind: 'websocket', host: '127.0.0.1', port: 0 }],
    ['ws://0.0.0.0:65535', { kind: 'websocket', host: '0.0.0.0', port: 65_535 }],
    ['ws://[::1]:4512', { kind: 'websocket', host: '::1', port: 4512 }],
  ])('takes %s', (text, address) => {
    expect(parseListenUrl(text)).toEqual(address)
  })

  it.each([
    'ws://localhost:1',
    'ws://127.0.0.1:0/path',
    'ws://127.0.0.1',
    'ws://127.0.0.1:65536',
    'ws://256.0.0.1:1',
    'ws://::1:1',
    'ws://[:::1]:1',
    'ws://:1',
  ])('says that %s is an invalid websocket URL', (text) => {
    expect(() => parseListenUrl(text)).toThrow(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``)
  })

  it.each(['tcp://1', 'wss://127.0.0.1:1', 'unix:///x', ''])('says that "%s" is unsupported', (text) => {
    expect(() => parseListenUrl(text)).toThrow(
      `unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``,
    )
  })
})
