import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { pathOfText } from '../../protocol/path-uri.ts'
import { READ_ONLY, sandboxOf, WORKSPACE_WRITE } from '../../testing/confined-commands.ts'
import { bubblewrapArguments } from './bubblewrap-arguments.ts'
import { Looks } from './looks.ts'
import { planMounts } from './mount-plan.ts'
import { placesOrAll } from './sandbox-places.ts'

it.each([
  ['read-only', READ_ONLY],
  ['workspace-write', WORKSPACE_WRITE],
  ['without rules about files', undefined],
])('%s: a command reads the authorities that it has to trust, and nothing else of ours', (_what, entries) => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-shown-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const at = (path: string) => join(base, path)
  for (const folder of ['ws', 'cover', 'data/run/certificates']) mkdirSync(at(folder), { recursive: true, mode: 0o700 })
  writeFileSync(at('data/run/certificates/trust-bundle.pem'), 'the bundle\n', { mode: 0o600 })
  writeFileSync(at('data/run/host.json'), 'secret-token')
  writeFileSync(at('cover-file'), '')
  const places = placesOrAll(sandboxOf({ root: at('ws'), entries }), {
    temporaryDirectories: [],
    denied: [pathOfText(at('data')), pathOfText(at('data/run'))],
    shown: [pathOfText(at('data/run/certificates'))],
  })
  const covers = { hiddenFile: at('cover-file'), hiddenFolder: at('cover'), emptyFolder: at('cover') }
  const words = bubblewrapArguments({
    files: planMounts(places, new Looks(), () => false),
    network: 'none',
    cwd: pathOfText(at('ws')),
    covers,
    environment: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  })
  const script = `cat ${at('data/run/certificates/trust-bundle.pem')}; cat ${at('data/run/host.json')}; ls ${at('data')}
    echo x > ${at('data/run/certificates/new')}; echo x > ${at('data/run/new')}; rm ${at('data/run/certificates/trust-bundle.pem')}`
  const { stdout, stderr } = spawnSync('bwrap', [...words, '--', '/bin/sh', '-c', script], { encoding: 'utf8' })
  expect(stdout).toBe('the bundle\n')
  expect(stderr).toMatch(/host\.json: (?:Permission denied|No such file)/)
  expect(stderr).toMatch(/cannot create .*certificates\/new: (?:Read-only|Permission denied)/)
  expect(stderr).toMatch(/cannot create .*run\/new: (?:Read-only|Permission denied)/)
  expect(stderr).toMatch(/cannot remove/)
})
