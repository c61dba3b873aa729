import { expect, it } from 'vitest'
import { socksProxyOf } from './socks-proxy.ts'

it.each([
  [{ GATEHOUSE_SOCKS_PROXY: 'socks5h://127.0.0.1:81', ALL_PROXY: 'socks5h://127.0.0.1:82' }, 'socks5h://127.0.0.1:81'],
  [{ ALL_PROXY: 'socks5://u:p@localhost:82' }, 'socks5h://u:p@localhost:82'],
  [{ ALL_PROXY: 'http://127.0.0.1:80', all_proxy: 'SOCKS5H://127.0.0.1:83' }, 'socks5h://127.0.0.1:83'],
])('%j leads there, by name', (environment, url) => {
  expect(socksProxyOf(environment)?.href.replace(/\/$/, '')).toBe(url)
})

it.each([
  {},
  { ALL_PROXY: '' },
  { HTTP_PROXY: 'socks5h://127.0.0.1:81' },
  { ALL_PROXY: 'socks4a://127.0.0.1:81' },
  { ALL_PROXY: 'socks5h://proxy.test:81' },
  { ALL_PROXY: 'socks5h://' },
])('%j leads nowhere', (environment) => {
  expect(socksProxyOf(environment as Record<string, string>)).toBeUndefined()
})
