import { expect, it } from 'vitest'
import type { BytePath } from '../../protocol/path-uri.ts'
import { compileGlob } from '../files/path-glob.ts'
import type { PlaceAccess, SandboxPlaces } from './sandbox-places.ts'
import { seatbeltProfile } from './seatbelt-profile.ts'

const path = (text: string) => text as BytePath

function places(rules: [string, PlaceAccess][], more: Partial<SandboxPlaces> = {}): SandboxPlaces {
  return {
    places: rules.map(([place, access]) => ({ path: path(place), access, isOptional: false })),
    globs: [],
    sealed: [],
    shown: [],
    globScanDepth: undefined,
    cwd: undefined,
    ...more,
  }
}
const fileLines = (profile: string) =>
  profile.split('\n').filter((line) => line.includes('/ws') || line.includes('"/"') || line.includes('"/data'))

it('starts by refusing everything', () => {
  expect(seatbeltProfile(null, []).split('\n').slice(0, 2)).toEqual(['(version 1)', '(deny default)'])
})

it('says places in the order of their depth, the strictest of one place last, our own at the end', () => {
  const rules: [string, PlaceAccess][] = [
    ['/ws/.git', 'read'],
    ['/ws/secret', 'denied'],
    ['/ws', 'write'],
    ['/', 'read'],
  ]
  const ours = { sealed: [path('/data')], shown: [path('/data/run/certificates')] }
  expect(fileLines(seatbeltProfile(places(rules, ours), []))).toEqual([
    '(allow file-read* (subpath "/"))',
    '(deny file-write* (subpath "/"))',
    '(allow file-read* file-write* (subpath "/ws"))',
    '(allow file-read* (subpath "/ws/.git"))',
    '(deny file-write* (subpath "/ws/.git"))',
    '(deny file-read* file-write* (subpath "/ws/secret"))',
    '(deny file-read* file-write* (subpath "/data"))',
    '(allow file-read* (subpath "/data/run/certificates"))',
  ])
})

it('a name cannot break out of its quotes', () => {
  const profile = seatbeltProfile(places([['/ws/a"))(allow default)\\', 'write']]), [])
  expect(profile).toContain('(subpath "/ws/a\\"))(allow default)\\\\")')
})

it.each([
  ['/ws/**/.env', '^/ws/(.*/)?\\.env(/.*)?$'],
  ['/ws/*.{key,pem}', '^/ws/[^/]*\\.(key|pem)(/.*)?$'],
  ['/ws/[!a]?', '^/ws/[^a][^/](/.*)?$'],
])('the pattern %s becomes %s', (pattern, expression) => {
  const globs = [{ pattern, glob: compileGlob(pattern), access: 'denied' as const }]
  expect(seatbeltProfile(places([], { globs }), [])).toContain(`(deny file-read* file-write* (regex #"${expression}"))`)
})

it('the network is closed, open, or open towards the proxy only', () => {
  expect(seatbeltProfile(null, [])).not.toContain('network')
  expect(seatbeltProfile(null, 'machine')).toContain('(allow network*)')
  expect(seatbeltProfile(null, [8080])).toContain('(allow network-outbound (remote ip "localhost:8080"))')
})
