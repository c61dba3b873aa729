import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { BubblewrapProbe } from './bubblewrap-probe.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-probe-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function installed(script: string): BubblewrapProbe {
  const path = join(folder, 'bwrap')
  writeFileSync(path, `#!/bin/sh\necho call >> ${folder}/calls\n${script}\n`)
  chmodSync(path, 0o755)
  return new BubblewrapProbe(() => folder, 300)
}
const calls = () => readFileSync(join(folder, 'calls'), 'utf8').split('\n').length - 1

it('a bwrap that works is tried out once, also when many ask at the same time', async () => {
  const probe = installed('exit 0')
  const answers = await Promise.all([probe.require(), probe.require(), probe.require()])
  expect(answers).toEqual([0, 1, 2].map(() => ({ path: join(folder, 'bwrap') })))
  await probe.require()
  expect(calls()).toBe(1)
})

it('E119 one that hangs is given up and named', async () => {
  await expect(installed('exec sleep 60').require()).rejects.toMatchObject({
    data: { kind: 'sandboxUnavailable' },
    message: expect.stringMatching(/bwrap cannot make a sandbox here: it did not answer within 0\.3 s/),
  })
})

it('E119 one that fails is named with its own words', async () => {
  await expect(installed('echo "bwrap: no luck" >&2; exit 1').require()).rejects.toThrow(/bwrap: no luck/)
  await expect(installed('exit 1').require()).rejects.toThrow(/it failed without a word/)
})

it('E119 a missing one is named with how to install it', async () => {
  await expect(new BubblewrapProbe(() => folder).require()).rejects.toThrow(
    /bubblewrap \(bwrap\) was not found .*sudo apt-get install bubblewrap/,
  )
})
