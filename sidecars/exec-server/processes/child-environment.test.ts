import { describe, expect, it } from 'vitest'
import type { EnvironmentPolicy } from '../../protocol/exec-process.ts'
import { childEnvironment, InheritableEnvironment } from './child-environment.ts'

const OWN = {
  PATH: '/usr/bin:/bin',
  HOME: '/home/me',
  LANG: 'C.UTF-8',
  MY_FLAG: '1',
  DEMO_API_KEY: 'k1',
  DEMO_TOKEN: 'k2',
  AWS_SECRET_ACCESS_KEY: 'k3',
  KEYBOARD: 'de',
}
const policy = (changes: Partial<EnvironmentPolicy> = {}): EnvironmentPolicy => ({
  inherit: 'all',
  ignoreDefaultExcludes: true,
  exclude: [],
  set: {},
  includeOnly: [],
  ...changes,
})
function environment(envPolicy: EnvironmentPolicy | undefined, env: Record<string, string> = {}, tty = false) {
  return childEnvironment({ env, tty, ...(envPolicy ? { envPolicy } : {}) }, new InheritableEnvironment(OWN))
}

describe('the environment of a child', () => {
  it('is exactly `env` without a policy', () => {
    expect(environment(undefined, { A: '1' })).toEqual({ A: '1' })
    expect(environment(undefined)).toEqual({})
  })

  it('starts from everything, the core, or nothing', () => {
    expect(environment(policy(), { A: '1' })).toEqual({ ...OWN, A: '1' })
    expect(environment(policy({ inherit: 'core' }))).toEqual({ PATH: OWN.PATH, HOME: OWN.HOME, LANG: OWN.LANG })
    expect(environment(policy({ inherit: 'none', set: { B: '2' } }), { A: '1' })).toEqual({ A: '1', B: '2' })
  })

  it('drops names that look like secrets unless told not to, whatever their case', () => {
    expect(Object.keys(environment(policy({ ignoreDefaultExcludes: false })))).toEqual([
      'PATH',
      'HOME',
      'LANG',
      'MY_FLAG',
    ])
  })

  it('excludes by pattern before `set`, and filters by `includeOnly` after it, but never `env`', () => {
    const result = environment(
      policy({ exclude: ['my_*', 'demo?token'], set: { MY_FLAG: '2', OTHER: '3' }, includeOnly: ['*FLAG', 'path'] }),
      { ZED: '4', MY_FLAG: '5' },
    )
    expect(result).toEqual({ PATH: OWN.PATH, MY_FLAG: '5', ZED: '4' })
    expect(environment(policy({ inherit: 'none', set: { MY_FLAG: '2', OTHER: '3' }, includeOnly: ['MY*'] }))).toEqual({
      MY_FLAG: '2',
    })
  })

  it('E58 leaves no name that matches *KEY*, *TOKEN*, *SECRET*', () => {
    const result = environment(policy({ exclude: ['*KEY*', '*TOKEN*', '*SECRET*'] }), {}, true)
    expect(Object.keys(result).filter((name) => /KEY|TOKEN|SECRET/.test(name))).toEqual([])
    expect(result.MY_FLAG).toBe('1')
  })

  it('always tells a child on a terminal its shell', () => {
    expect(environment(undefined, { A: '1' }, true)).toEqual({ A: '1', SHELL: expect.stringMatching(/^\//) })
    expect(environment(undefined, { SHELL: '/bin/own' }, true).SHELL).toBe('/bin/own')
  })

  it('E56 never hands on what Electron, Node or we set for ourselves, but what a client sets', () => {
    const own = {
      ELECTRON_RUN_AS_NODE: '1',
      NODE_OPTIONS: '--inspect',
      NODE_CHANNEL_FD: '3',
      CHROME_DESKTOP: 'x',
      GATEHOUSE_AGENT_TOKEN: 't',
      GATEHOUSE_HOME: '/data',
      PATH: '/bin',
    }
    const inheritable = new InheritableEnvironment(own)
    const result = childEnvironment({ env: { NODE_OPTIONS: '-r x' }, tty: false, envPolicy: policy() }, inheritable)
    expect(result).toEqual({ PATH: '/bin', GATEHOUSE_HOME: '/data', NODE_OPTIONS: '-r x' })
  })

  it("E54 lays the login shell's variables over its own", () => {
    const inheritable = new InheritableEnvironment(OWN)
    expect(inheritable.get().PATH).toBe(OWN.PATH)
    inheritable.setBase({ PATH: '/home/me/tools/bin:/usr/bin' })
    expect(inheritable.get()).toEqual({ ...OWN, PATH: '/home/me/tools/bin:/usr/bin' })
  })

  it('ends also for patterns that a backtracking matcher would never finish', () => {
    const evil = 'A'.repeat(5_000)
    const own = new InheritableEnvironment({ [evil]: '1' })
    const result = childEnvironment(
      { env: {}, tty: false, envPolicy: policy({ exclude: [`${'*A'.repeat(30)}*B`] }) },
      own,
    )
    expect(Object.keys(result)).toHaveLength(1)
  })
})
