import { expect, it } from 'vitest'
import { selectSubtrees } from './toml-subtree.ts'

const table = {
  model: 'x',
  mcp_servers: { a: { command: 'run', env: { K: 'v' } }, 'b c': { url: 'http://x/' } },
  list: [{ n: 1 }, { n: 2 }],
}

it.each<[string[][], unknown]>([
  [[['mcp_servers', 'a', 'env']], { mcp_servers: { a: { env: { K: 'v' } } } }],
  [[['mcp_servers', 'b c']], { mcp_servers: { 'b c': { url: 'http://x/' } } }],
  [[['model'], ['list']], { model: 'x', list: [{ n: 1 }, { n: 2 }] }],
  [[['model', 'deeper']], { model: 'x' }],
  [[['mcp_servers', 'none', 'at all']], { mcp_servers: {} }],
  [[['none']], {}],
  [[['mcp_servers'], ['mcp_servers', 'a', 'env']], { mcp_servers: table.mcp_servers }],
  [
    [
      ['mcp_servers', 'a', 'env'],
      ['mcp_servers', 'a', 'command'],
    ],
    { mcp_servers: { a: { env: { K: 'v' }, command: 'run' } } },
  ],
])('%j', (paths, expected) => expect(selectSubtrees(table, paths)).toEqual(expected))

it('a path of any length is safe, and so are names of Object', () => {
  expect(selectSubtrees(table, [Array.from({ length: 200_000 }, () => 'mcp_servers')])).toEqual({ mcp_servers: {} })
  const deep: Record<string, unknown> = {}
  let at = deep
  for (let i = 0; i < 200_000; i++) at = at.k = {} as Record<string, unknown>
  const selected = selectSubtrees(deep, [Array.from({ length: 200_000 }, () => 'k')])
  expect(Object.keys(selected)).toEqual(['k'])
  const odd = selectSubtrees(JSON.parse('{"__proto__":{"x":1}}') as Record<string, unknown>, [['__proto__', 'x']])
  expect(JSON.stringify(odd)).toBe('{"__proto__":{"x":1}}')
})

it('leaves the table it reads from alone', () => {
  const before = JSON.stringify(table)
  selectSubtrees(table, [['mcp_servers', 'a'], ['mcp_servers', 'z'], ['mcp_servers']])
  expect(JSON.stringify(table)).toBe(before)
})
