import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../test-kit/owner.ts'
import { ConfigWatcher } from './config-watcher.ts'
import type { NetworkConfig } from './network-config.ts'

function watched(): { path: string; changes: NetworkConfig[]; failures: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-config-'))
  const path = join(folder, 'network.toml')
  writeFileSync(path, 'mode = "full"\n')
  const changes: NetworkConfig[] = []
  const failures: string[] = []
  const watcher = new ConfigWatcher(path, {
    changed: (config) => void changes.push(config),
    failed: (error) => void failures.push(error.message),
  })
  onTestFinished(() => {
    watcher.close()
    rmSync(folder, { recursive: true })
  })
  return { path, changes, failures }
}

it('a file that is written or replaced is taken over', async () => {
  const { path, changes } = watched()
  writeFileSync(path, 'mode = "limited"\n')
  await eventually(() => changes.at(-1)?.mode === 'limited')
  writeFileSync(`${path}.new`, '[domains]\n"a.test" = "allow"\n')
  renameSync(`${path}.new`, path)
  await eventually(() => changes.at(-1)?.domains['a.test'] === 'allow')
})

it('a broken file is reported and changes nothing; mended, it is taken over', async () => {
  const { path, changes, failures } = watched()
  writeFileSync(path, 'mode = "limited"\n[domains]\n"*" = "deny"\n')
  await eventually(() => failures.length > 0)
  expect(failures[0]).toContain('network.domains."*"')
  expect(changes).toEqual([])
  writeFileSync(path, 'mode = "limited"\n')
  await eventually(() => changes.at(-1)?.mode === 'limited')
})
