import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { readLoginEnvironment } from './login-environment.ts'

// Generous: the machine may be busy with many other tests.
vi.setConfig({ testTimeout: 20_000 })
const until = (isSo: () => unknown) => vi.waitUntil(isSo, { timeout: 15_000 })

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'gatehouse-home-'))
})
const put = (name: string, text: string) => writeFile(join(home, name), text)
const env = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  HOME: home,
  PATH: '/usr/bin:/bin',
  SHELL: '/bin/bash',
  ...more,
})
const running = (marker: string) =>
  execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(marker) && !line.includes('ps -eo'))

describe('readLoginEnvironment', () => {
  it('E54 finds what an interactive shell sets, and takes over listed variables only', async () => {
    await put('.bash_profile', 'export GOPATH="/go path\nwith a line end"\n[ -f ~/.bashrc ] && . ~/.bashrc\n')
    await put('.bashrc', '[ -z "$PS1" ] && return\nexport PATH="$HOME/tools/bin:$PATH"\nexport DEMO_API_KEY=secret\n')
    const told = {
      PATH: expect.stringMatching(new RegExp(`^${home}/tools/bin:`)) as string,
      GOPATH: '/go path\nwith a line end',
    }
    expect(await readLoginEnvironment({ env: env() })).toEqual({ variables: told, also: {} })
    // Names that are asked for are told apart, and nothing that is no name gets into the script.
    expect(await readLoginEnvironment({ env: env(), alsoNames: ['DEMO_API_KEY', 'NO_SUCH', 'A; exit'] })).toEqual({
      variables: told,
      also: { DEMO_API_KEY: 'secret' },
    })
  })

  it('E54 asks the shell of the password file when SHELL is not set', async () => {
    await put('.bash_profile', 'export PATH=/from/profile:$PATH\n')
    await put('.profile', 'export PATH=/from/profile:$PATH\n')
    const { variables } = await readLoginEnvironment({ env: env({ SHELL: undefined }) })
    expect(variables.PATH).toContain('/from/profile')
  })

  it('E55 is not fooled by a banner, waits for no input and no background program', async () => {
    await put(
      '.bash_profile',
      `printf '\\033[31mWelcome!\\033[0m\\nPATH=/evil/bin\\0PATH=/evil/bin\\0'\nread -r answer\n( sleep 987.55 & )\nexport PATH=/good:$PATH\n`,
    )
    const { variables, warning } = await readLoginEnvironment({ env: env() })
    expect(variables.PATH).toMatch(/^\/good:/)
    expect(warning).toBeUndefined()
    await until(() => running('sleep 987.55').length === 0)
  })

  it('E55 gives up at the deadline, says so, and leaves nothing running', async () => {
    await put('.bash_profile', '( sleep 987.56 & ) ; sleep 987.56\n')
    const result = await readLoginEnvironment({ env: env(), deadlineMs: 300 })
    expect(result.variables).toEqual({})
    expect(result.warning).toContain('it did not answer within')
    await until(() => running('sleep 987.56').length === 0)
  })

  it('gives up on a shell that prints without end, does not exist or is not known', async () => {
    await put('.bash_profile', 'yes\n')
    expect((await readLoginEnvironment({ env: env() })).warning).toContain('it prints without end')
    expect((await readLoginEnvironment({ env: env(), shell: '/nowhere/bash' })).warning).toContain('ENOENT')
    expect((await readLoginEnvironment({ env: env(), shell: '/usr/bin/xonsh' })).warning).toContain(
      'is not one that can be asked',
    )
  })

  it('says when a shell answers without a PATH', async () => {
    await put('bash', '#!/bin/sh\nexit 0\n')
    await chmod(join(home, 'bash'), 0o755)
    expect((await readLoginEnvironment({ env: env(), shell: join(home, 'bash') })).warning).toContain(
      'did not tell its PATH',
    )
  })
})
