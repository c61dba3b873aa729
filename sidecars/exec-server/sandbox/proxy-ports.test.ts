import { expect, it } from 'vitest'
import { proxyPorts } from './proxy-ports.ts'

it.each<[Record<string, string>, number[]]>([
  [{}, []],
  [{ HTTP_PROXY: 'http://lease:x@127.0.0.1:8080' }, [8080]],
  [{ HTTP_PROXY: 'http://127.0.0.1:8080', https_proxy: 'http://localhost:8080/' }, [8080]],
  [{ HTTP_PROXY: 'http://127.0.0.1:8080', GATEHOUSE_SOCKS_PROXY: 'socks5h://l@127.0.0.1:1080' }, [8080, 1080]],
  [{ HTTP_PROXY: '127.0.0.1:3128' }, []],
  [{ HTTP_PROXY: 'http://proxy.example.test:3128' }, []],
  [{ HTTP_PROXY: 'http://10.0.0.1:3128', NO_PROXY: 'http://127.0.0.1:99' }, []],
  [{ HTTP_PROXY: 'http://127.0.0.1.example.test:80' }, []],
  [{ HTTP_PROXY: 'http://127.0.0.1' }, [80]],
  [{ HTTP_PROXY: 'no url' }, []],
])('of %j: %j', (environment, ports) => {
  expect(proxyPorts(environment)).toEqual(ports)
})
