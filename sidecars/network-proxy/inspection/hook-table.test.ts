import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Fields } from '../http/fields.ts'
import type { HookTable } from './hook-table.ts'
import { parseInspection } from './inspection-config.ts'

const ENVIRONMENT = { LONG: 'a-long-secret', API_TOKEN: 'tok-123', EMPTY: '' }

function table(
  hook: Record<string, unknown>,
  more: Record<string, unknown> = {},
  actions: unknown = { keep: {} },
): HookTable {
  const hooks = {
    one: { host: 'api.test', methods: ['GET'], path_prefixes: ['/'], action: ['keep'], ...hook },
    ...more,
  }
  return parseInspection({ version: 2, hooks, actions }, undefined, ENVIRONMENT).hooks
}

function fields(entries: Record<string, string | string[]> = {}): Fields {
  const list = new Fields()
  for (const [name, value] of Object.entries(entries)) for (const one of [value].flat()) list.add(name, one)
  return list
}

interface Given {
  method?: string
  path?: string
  port?: number
  scheme?: 'http' | 'https'
  headers?: Record<string, string | string[]>
}

function kindOf(
  hooks: HookTable,
  { method = 'GET', path = '/', port = 443, scheme = 'https', headers = {} }: Given,
): string {
  const outcome = hooks.apply({ host: 'api.test', port, scheme, method, path, fields: fields(headers) })
  return outcome.kind === 'refused' ? outcome.refusal.reason : outcome.kind
}

describe('a hook matches', () => {
  it.each<[string, Record<string, unknown>, Given, string]>([
    ['its method', {}, {}, 'matched'],
    ['no other method', {}, { method: 'POST' }, 'mitm_hook_denied'],
    ['methods in upper case only', { methods: ['get'] }, { method: 'get' }, 'mitm_hook_denied'],
    ['methods that were written in lower case', { methods: ['get'] }, {}, 'matched'],
    ['its path', { path_prefixes: ['/repos'] }, { path: '/repos' }, 'matched'],
    ['what is below its path', { path_prefixes: ['/repos'] }, { path: '/repos/a?x=1' }, 'matched'],
    ['no path that only starts alike', { path_prefixes: ['/repos'] }, { path: '/repository' }, 'mitm_hook_denied'],
    ['paths that start alike when it says so', { path_prefixes: ['/repos*'] }, { path: '/repository' }, 'matched'],
    ['a path that ends in a slash', { path_prefixes: ['/repos/'] }, { path: '/repos/a' }, 'matched'],
    ['a literal with a prefix', { path_prefixes: ['literal:/a*b'] }, { path: '/a*b' }, 'matched'],
    ['a glob', { path_prefixes: ['pattern:/repos/*/issues'] }, { path: '/repos/x/issues' }, 'matched'],
    [
      'no glob across a slash',
      { path_prefixes: ['pattern:/repos/*/issues'] },
      { path: '/repos/x/y/issues' },
      'mitm_hook_denied',
    ],
    ['a double star across slashes', { path_prefixes: ['pattern:/repos/**'] }, { path: '/repos/x/y' }, 'matched'],
    ['one of several in braces', { path_prefixes: ['pattern:/{a,b}/?'] }, { path: '/b/c' }, 'matched'],
    ['a set of characters', { path_prefixes: ['pattern:/v[0-9]'] }, { path: '/v2' }, 'matched'],
    ['the other side of a set', { path_prefixes: ['pattern:/v[!0-9]'] }, { path: '/v2' }, 'mitm_hook_denied'],
    ['an escaped star', { path_prefixes: ['pattern:/a\\*'] }, { path: '/ab' }, 'mitm_hook_denied'],
    ['an encoded spelling of its path', { path_prefixes: ['/repos'] }, { path: '/%72epos' }, 'matched'],
    ['a query value', { query: { q: ['a b'] } }, { path: '/?q=a+b' }, 'matched'],
    ['any of several query values', { query: { q: ['a', 'b'] } }, { path: '/?q=x&q=b' }, 'matched'],
    ['a query glob across slashes', { query: { q: ['pattern:a*'] } }, { path: '/?q=a%2Fb' }, 'matched'],
    ['no missing query name', { query: { q: ['a'] } }, { path: '/?r=a' }, 'mitm_hook_denied'],
    ['all constraints together', { query: { q: ['a'], r: ['b'] } }, { path: '/?q=a' }, 'mitm_hook_denied'],
    ['a header value', { headers: { 'X-Env': ['dev'] } }, { headers: { 'x-env': 'dev' } }, 'matched'],
    [
      'any of several header fields',
      { headers: { 'x-env': ['dev'] } },
      { headers: { 'x-env': ['a', 'dev'] } },
      'matched',
    ],
    ['a header that is there', { headers: { 'x-env': [] } }, { headers: { 'x-env': 'any' } }, 'matched'],
    ['no header that is missing', { headers: { 'x-env': [] } }, {}, 'mitm_hook_denied'],
    ['its port', { ports: [8443] }, { port: 8443 }, 'matched'],
    ['no other port', { ports: [8443] }, {}, 'mitm_hook_denied'],
    ['https without a scheme', {}, { scheme: 'http' }, 'mitm_required'],
    ['http when it says so', { schemes: ['http'] }, { scheme: 'http' }, 'matched'],
    ['no https when it says http only', { schemes: ['http'] }, {}, 'mitm_hook_denied'],
  ])('%s', (_what, hook, given, kind) => {
    expect(kindOf(table(hook), given)).toBe(kind)
  })

  it('first in the order of the file', () => {
    const hooks = table(
      {},
      { two: { host: 'api.test', methods: ['GET', 'POST'], path_prefixes: ['/'], action: ['keep'] } },
    )
    const named = (method: string) => {
      const outcome = hooks.apply({ host: 'api.test', port: 443, scheme: 'https', method, path: '/', fields: fields() })
      return outcome.kind === 'matched' && outcome.hook
    }
    expect([named('GET'), named('POST')]).toEqual(['one', 'two'])
  })

  it('other hosts are not its business', () => {
    expect(
      table({}).apply({ host: 'b.test', port: 443, scheme: 'https', method: 'PUT', path: '//', fields: fields() }).kind,
    ).toBe('free')
  })
})

describe('a path that servers could read in two ways is refused', () => {
  it.each([
    '/a/../b',
    '/a/./b',
    '/..',
    '/%2e%2e/b',
    '/a%2Fb',
    '/a%5cb',
    '/a\\b',
    '//b/c',
    '/a/%252e%252e/b',
    '/a/..;x/b',
    '/%00',
    '/%zz',
    '/a/..',
  ])('%s', (path) => {
    expect(() => kindOf(table({}), { path })).toThrow(/path/)
  })

  it.each(['/a..b', '/.well-known/x', '/a.b', '/a//b', '/a%20b', '/a?x=../..', '/...', '/%25'])(
    'but not %s',
    (path) => {
      expect(kindOf(table({}), { path })).toBe('matched')
    },
  )
})

describe('actions', () => {
  const secretFile = join(mkdtempSync(join(tmpdir(), 'gatehouse-hook-')), 'secret')
  writeFileSync(secretFile, 'from-file\n')

  it('take fields away first and then put fields in, replacing what was there', () => {
    const hooks = table(
      { action: ['strip', 'put'] },
      {},
      {
        strip: { strip_request_headers: ['X-Client', 'cookie'] },
        put: {
          inject_request_headers: [
            { name: 'Authorization', prefix: 'Bearer ', secret_env_var: 'API_TOKEN' },
            { name: 'X-Key', secret_file: secretFile },
          ],
        },
      },
    )
    const head = fields({ 'x-client': ['a', 'b'], Cookie: 'c', Authorization: ['one', 'two'], Accept: '*/*' })
    const outcome = hooks.apply({
      host: 'api.test',
      port: 443,
      scheme: 'https',
      method: 'GET',
      path: '/',
      fields: head,
    })
    expect(outcome).toEqual({
      kind: 'matched',
      hook: 'one',
      injected: ['authorization', 'x-key'],
      secrets: ['tok-123', 'from-file'],
      path: undefined,
      bodyWork: undefined,
    })
    expect(head.names.map((name, at) => `${name}: ${head.values[at]}`)).toEqual([
      'Accept: */*',
      'Authorization: Bearer tok-123',
      'X-Key: from-file',
    ])
    expect([...hooks.childVariables]).toEqual([['API_TOKEN', '']])
  })
})

describe('a table that cannot be used names the key', () => {
  const hook = { host: 'api.test', methods: ['GET'], path_prefixes: ['/'], action: ['keep'] }
  const one = (change: Record<string, unknown>) => ({ hooks: { one: { ...hook, ...change } }, actions: { keep: {} } })
  const REPLACED = { placeholder: 'in-place-of-it', secret_env_var: 'LONG' }
  const substitute = (body_secret_substitution: object) => ({
    version: 2,
    actions: { a: { body_secret_substitution } },
  })
  const signing = (change: object) => ({
    version: 2,
    actions: {
      a: {
        aws_sigv4: {
          placeholder_access_key_id: 'AKIAPLACEHOLDER',
          region: 'eu-central-1',
          service: 's3',
          access_key_id: { secret_env_var: 'LONG' },
          secret_access_key: { secret_env_var: 'API_TOKEN' },
          ...change,
        },
      },
    },
  })
  const inject = (entry: Record<string, unknown>) => ({
    actions: { a: { inject_request_headers: [{ name: 'X-A', ...entry }] } },
  })

  it.each<[unknown, RegExp]>([
    [[], /^network\.mitm: expected a table/],
    [{ hook: {} }, /^network\.mitm\.hook: unknown key/],
    [{ version: 3 }, /^network\.mitm\.version: expected 1 or 2/],
    [one({ host: '*.test' }), /hooks\.one\.host: .*wildcards/],
    [one({ host: 'a b' }), /hooks\.one\.host: /],
    [one({ methods: [] }), /hooks\.one\.methods: expected at least one/],
    [one({ methods: ['G T'] }), /hooks\.one\.methods: "G T" is not a method/],
    [one({ path_prefixes: [] }), /path_prefixes: expected at least one/],
    [one({ path_prefixes: ['repos'] }), /path_prefixes: "repos" does not start with a slash/],
    [one({ path_prefixes: ['pattern:/[a'] }), /path_prefixes: .*\[ without its \]/],
    [one({ path_prefixes: ['pattern:/{a'] }), /path_prefixes: .*\{ without its \}/],
    [one({ query: { q: [] } }), /query\.q: expected at least one/],
    [one({ headers: { 'a b': [] } }), /headers\.a b: is not the name/],
    [one({ action: [] }), /action: expected at least one/],
    [one({ action: ['gone'] }), /action: there is no action "gone"/],
    [one({ body: {} }), /body: bodies cannot be matched/],
    [one({ ports: [443] }), /ports: needs version = 2/],
    [one({ schemes: ['https'] }), /schemes: needs version = 2/],
    [{ version: 2, ...one({ ports: [0] }) }, /ports: 0 is not a port/],
    [{ version: 2, ...one({ schemes: ['ftp'] }) }, /schemes: "ftp" is neither/],
    [one({ metod: [] }), /hooks\.one\.metod: unknown key/],
    [{ hooks: { 1: hook }, actions: { keep: {} } }, /cannot be named by a number/],
    [{ exclude: ['api.test'], ...one({}) }, /exclude: api\.test has hooks/],
    [{ exclude: ['a/b'] }, /^network\.mitm\.exclude: /],
    [inject({}), /needs exactly one of secret_env_var and secret_file/],
    [inject({ secret_env_var: 'A', secret_file: '/b' }), /needs exactly one/],
    [inject({ secret_env_var: 'MISSING' }), /secret_env_var: the variable MISSING is not set/],
    [inject({ secret_env_var: 'EMPTY' }), /the variable EMPTY is not set/],
    [inject({ secret_file: 'relative' }), /secret_file: expected an absolute path/],
    [inject({ secret_file: '/nowhere/at/all' }), /secret_file: .*ENOENT/],
    [inject({ name: 'User-Agent', secret_env_var: 'API_TOKEN' }), /User-Agent cannot be changed/],
    [inject({ name: 'Host', secret_env_var: 'API_TOKEN' }), /Host cannot be changed/],
    [inject({ name: 'Connection', secret_env_var: 'API_TOKEN' }), /Connection cannot be changed/],
    [inject({ secret_env_var: 'API_TOKEN', placeholder: 'in-place-of-it' }), /placeholder: needs version = 2/],
    [
      { version: 2, ...inject({ secret_env_var: 'API_TOKEN', placeholder: 'short' }) },
      /placeholder: expected 8 to 128/,
    ],
    [{ version: 2, ...inject({ secret_env_var: 'LONG', placeholder: 'long-secret' }) }, /is part of the secret/],
    [substitute({}), /replacements: expected at least one replacement/],
    [substitute({ replacements: [{ secret_env_var: 'LONG' }] }), /replacements\[0\]\.placeholder: expected a text/],
    [substitute({ replacements: [{ ...REPLACED, more: 1 }] }), /replacements\[0\]\.more: unknown key/],
    [substitute({ replacements: [REPLACED, REPLACED] }), /the placeholder in-place-of-it is part of another one/],
    [
      substitute({ replacements: [REPLACED, { ...REPLACED, placeholder: 'another-one' }] }),
      /LONG has two placeholders/,
    ],
    [substitute({ replacements: [REPLACED], port: 0 }), /body_secret_substitution\.port: expected a whole number/],
    [substitute({ replacements: [REPLACED], max_body_bytes: 1e9 }), /max_body_bytes: expected a whole number from 1/],
    [{ ...substitute({ replacements: [REPLACED] }), version: 1 }, /body_secret_substitution: needs version = 2/],
    [signing({ region: '' }), /aws_sigv4\.region: expected a text/],
    [signing({ service: 3 }), /aws_sigv4\.service: expected a text/],
    [signing({ placeholder_access_key_id: 'A/B' }), /placeholder_access_key_id: expected 8 to 128/],
    [signing({ secret_access_key: undefined }), /secret_access_key: expected a table/],
    [signing({ secret_access_key: {} }), /secret_access_key\.secret_env_var: needs exactly one/],
    [signing({ session_token: { secret_env_var: 'MISSING' } }), /the variable MISSING is not set/],
    [signing({ bucket: 'x' }), /aws_sigv4\.bucket: unknown key/],
    [{ ...signing({}), version: 1 }, /aws_sigv4: needs version = 2/],
    [
      {
        ...signing({}),
        hooks: { one: { ...hook, action: ['a', 'b'] } },
        actions: { a: signing({}).actions.a, b: signing({}).actions.a },
      },
      /action: a request can be signed by one action only/,
    ],
    [{ actions: { a: { strip_request_headers: ['content-length'] } } }, /content-length cannot be changed/],
  ])('%j', (mitm, message) => {
    expect(() => parseInspection(mitm, undefined, ENVIRONMENT)).toThrow(message)
  })

  it('a secret is never sent in the clear', () => {
    const mitm = {
      version: 2,
      ...one({ schemes: ['http'], action: ['put'] }),
      actions: { put: { inject_request_headers: [{ name: 'X-A', secret_env_var: 'API_TOKEN' }] } },
    }
    expect(() => parseInspection(mitm, undefined, ENVIRONMENT)).toThrow(
      /schemes: an action that injects a secret cannot be used over http/,
    )
  })

  it('both files of an own authority are needed', () => {
    expect(() => parseInspection(undefined, { certificate_file: '/a' }, {})).toThrow(
      /^network\.mitm_ca\.private_key_file: /,
    )
    expect(() => parseInspection(undefined, { key: '/a' }, {})).toThrow(/^network\.mitm_ca\.key: unknown key/)
  })
})
