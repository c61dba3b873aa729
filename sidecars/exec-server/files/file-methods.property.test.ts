import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../testing/fast-check.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MethodCaller, RefusedCall } from '../../testing/method-caller.ts'
import { MethodTable } from '../wire/method-table.ts'
import { registerFileMethods } from './file-methods.ts'

const METHODS = [
  'readFile',
  'writeFile',
  'createDirectory',
  'getMetadata',
  'canonicalize',
  'readDirectory',
  'walk',
  'remove',
  'copy',
  'open',
  'readBlock',
  'writeBlock',
  'close',
  'watchMissing',
]
const CODES = [-32600, -32602, -32603, -32004]

let root: string
let outside: string
beforeAll(() => {
  const base = mkdtempSync(join(tmpdir(), 'gatehouse-fuzz-'))
  root = join(base, 'in')
  outside = join(base, 'out')
  for (const folder of [join(root, 'd'), outside]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(outside, 'kept'), 'kept')
})
afterAll(() => rmSync(join(root, '..'), { recursive: true, force: true }))

/** Every good path of the fuzz lies in the scratch folder: removing it is allowed, and will happen. */
const uri = fc
  .constantFrom('', '/f', '/d', '/d/x', '/l', '/none/y', '/%FF', '/leak/kept')
  .map((p) => () => `file://${root}${p}`)
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, 5, -1, 1.5, 1e300, '', 'x', '/tmp', 'http://x/', 'file://host/x', [], {}, ['x']),
  fc.string({ maxLength: 20 }).filter((text) => !/^\s*file:/i.test(text)),
)
const sandbox = fc.constantFrom<() => unknown>(
  () => null,
  () => ({ permissions: { type: 'disabled' }, windowsSandboxLevel: 'disabled' }),
  () => sandboxOf([{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }]),
  () =>
    sandboxOf([
      { path: { type: 'path', path: `file://${root}` }, access: 'write' },
      { path: { type: 'glob_pattern', pattern: '**/{a,[b' }, access: 'deny' },
    ]),
  () => ({ permissions: 5 }),
)
const sandboxOf = (entries: unknown[]) => ({
  permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
  cwd: `file://${root}`,
  workspaceRoots: [`file://${root}`],
  windowsSandboxLevel: 'disabled',
})
const lazily = <T>(arbitrary: fc.Arbitrary<T>) => arbitrary.map((value) => () => value)
const mostly = (good: fc.Arbitrary<() => unknown>) =>
  fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: lazily(junk) })

const params = fc.record(
  {
    path: mostly(uri),
    sourcePath: mostly(uri),
    destinationPath: mostly(uri),
    dataBase64: mostly(lazily(fc.constantFrom('', 'aGk=', 'aGk', '!!!!'))),
    chunk: mostly(lazily(fc.constantFrom('', 'aGk=', 'A'))),
    recursive: mostly(lazily(fc.boolean())),
    force: mostly(lazily(fc.boolean())),
    followSymlinks: mostly(lazily(fc.boolean())),
    handleId: mostly(lazily(fc.constantFrom('a', 'b', 'x'.repeat(40)))),
    mode: mostly(lazily(fc.constantFrom('read', 'replace'))),
    offset: mostly(lazily(fc.constantFrom(0, 3, 2 ** 40))),
    len: mostly(lazily(fc.constantFrom(0, 1, 100, 1_048_576))),
    watchId: mostly(lazily(fc.nat())),
    missing: mostly(
      fc.tuple(uri).map(([one]) => () => [one()]),
    ),
    present: mostly(uri),
    options: mostly(
      lazily(
        fc.record({
          maxDepth: fc.constantFrom(0, 3, 99),
          maxDirectories: fc.constantFrom(0, 10),
          maxEntries: fc.constantFrom(0, 5),
          followDirectorySymlinks: fc.boolean(),
        }),
      ),
    ),
    sandbox: mostly(sandbox),
  },
  { requiredKeys: ['path', 'sourcePath', 'destinationPath', 'recursive', 'handleId', 'sandbox'] },
)

it('whatever is asked, the answer is a result or one of the errors of the wire, and nothing leaks', async () => {
  const openFiles = () => readdirSync('/proc/self/fd').length
  const before = openFiles()
  const table = new MethodTable()
  registerFileMethods(table, { policyContext: { temporaryDirectories: [], denied: [] } })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...METHODS), params), { minLength: 1, maxLength: 12 }),
      async (calls) => {
        // Whatever the calls before made of it (a folder where a file was, a file in the place of the root).
        rmSync(root, { recursive: true, force: true })
        mkdirSync(join(root, 'd'), { recursive: true })
        writeFileSync(join(root, 'f'), 'f')
        symlinkSync('f', join(root, 'l'))
        symlinkSync(outside, join(root, 'leak'))
        const caller = new MethodCaller(table)
        const results = await Promise.allSettled(
          calls.map(([method, lazy]) =>
            caller.call(`fs/${method}`, Object.fromEntries(Object.entries(lazy).map(([k, v]) => [k, v?.()]))),
          ),
        )
        caller.close()
        for (const result of results)
          if (result.status === 'rejected') {
            expect(result.reason).toBeInstanceOf(RefusedCall)
            const { code, message } = result.reason as RefusedCall
            expect(CODES).toContain(code)
            // Anything else with this code would be a mistake of ours that was caught at the door.
            if (code === -32603) expect(message).toMatch(/\(os error \d+\)$|recursive no-follow removal is unsupported/)
          }
      },
    ),
    { numRuns: 300 },
  )
  await expect.poll(openFiles).toBeLessThanOrEqual(before + 2)
}, 60_000)
