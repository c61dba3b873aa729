import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { compilationFlags } from './early-compilation.ts'

test.each([
  ['10.2.154.26-node.37', '--interrupt-budget=10000'],
  ['11.3.244.8-node.38', '--interrupt-budget=10000'],
  ['11.4.183.19-electron.0', '--invocation-count-for-turbofan=300'],
  ['14.1.146.11-node.14', '--invocation-count-for-turbofan=300'],
])('V8 %s is told %s', (version, flag) => {
  expect(compilationFlags(version)).toContain(flag)
})

test('this runtime knows each of its flags', () => {
  const flags = compilationFlags(process.versions.v8)
  const script = `for (const flag of ${JSON.stringify(flags)}) require('node:v8').setFlagsFromString(flag)`
  expect(spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
})
