import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-bin-'))
  cpSync('bin', join(folder, 'bin'), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true }))

const start = (program: string, args: string[], nodeArgs: string[] = []) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeArgs, program, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}
/** Built bundles that only tell how they were started. */
function putBundles(): void {
  for (const bundle of ['cli/gatehouse', 'sidecars/exec-server', 'sidecars/mcp-server', 'sidecars/network-proxy']) {
    mkdirSync(join(folder, 'out', bundle.split('/')[0] ?? ''), { recursive: true })
    writeFileSync(
      join(folder, 'out', `${bundle}.cjs`),
      `console.log(JSON.stringify([${JSON.stringify(bundle)}, process.argv[1], ...process.argv.slice(2)]))`,
    )
  }
}

test.each([
  [['exec-server', '--listen', 'stdio'], 'sidecars/exec-server', ['--listen', 'stdio']],
  [['mcp-server'], 'sidecars/mcp-server', []],
  [['proxy', '--http', '127.0.0.1:0'], 'sidecars/network-proxy', ['--http', '127.0.0.1:0']],
  [['network-proxy'], 'sidecars/network-proxy', []],
  [['status', '--json'], 'cli/gatehouse', ['status', '--json']],
  [['constructor'], 'cli/gatehouse', ['constructor']],
  [[], 'cli/gatehouse', []],
])('%j starts only the bundle it needs, with its own arguments', (args, bundle, rest) => {
  putBundles()
  const { stdout } = start(join(folder, 'bin/gatehouse'), args)
  expect(JSON.parse(stdout)).toEqual([bundle, join(folder, 'out', `${bundle}.cjs`), ...rest])
})

test('it works through the link that npm installs', () => {
  putBundles()
  symlinkSync(join(folder, 'bin/gatehouse'), join(folder, 'link'))
  expect(start(join(folder, 'link'), ['status']).stdout).toContain('cli/gatehouse')
})

test('without a build it says how to make one', () => {
  const { status, stderr } = start(join(folder, 'bin/gatehouse'), ['exec-server'])
  expect([status, stderr]).toEqual([
    1,
    `gatehouse: ${join(folder, 'bin', '..', 'out/sidecars/exec-server.cjs')} is missing. Build it first: npm run build\n`,
  ])
})

test.each(['16.20.2', '18.14.9'])('Node %s is refused with the version that is needed', (version) => {
  putBundles()
  const preload = join(folder, 'old.cjs')
  writeFileSync(preload, `Object.defineProperty(process.versions, 'node', { value: ${JSON.stringify(version)} })`)
  const { status, stdout, stderr } = start(join(folder, 'bin/gatehouse'), ['status'], ['-r', preload])
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`Node 18.15 or newer is needed, this is ${version}`)
})

test('the built sidecars and their companions tell their usage through it', () => {
  for (const [name, word] of [
    ['exec-server', '--listen'],
    ['mcp-server', '--listen'],
    ['proxy', '--http'],
    ['app-server', '--listen'],
    ['responses-proxy', '--port'],
    ['stdio-to-uds', 'SOCKET'],
  ] as const) {
    const { status, stdout, stderr } = start(resolve('bin/gatehouse'), [name, '--help'])
    expect([name, status, `${stdout}${stderr}`]).toEqual([name, 0, expect.stringContaining(word)])
  }
})
