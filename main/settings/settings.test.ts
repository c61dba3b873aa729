import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { SettingsStore, settingsView } from './settings.ts'

let folder: string
let path: string
let problems: string[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-settings-'))
  path = join(folder, 'settings.json')
  problems = []
})
const openSettings = () =>
  SettingsStore.open({ path, onProblem: (message) => problems.push(message), now: () => Date.UTC(2026, 0, 2) })
const onDisk = async (): Promise<unknown> => JSON.parse(await readFile(path, 'utf8'))

const DEFAULTS = {
  theme: 'system',
  unknownHost: 'ask',
  agentGate: 'observe',
  notifications: true,
  globalShortcut: null,
  keepInTray: true,
  agentPostures: {},
  readCodexRules: false,
  networkMode: 'full',
  inspectHttps: false,
  externalAppServer: null,
}

describe('SettingsStore', () => {
  it('starts with defaults and writes no file until something is changed', async () => {
    const settings = await openSettings()
    expect(settingsView(settings.current)).toEqual(DEFAULTS)
    expect(problems).toEqual([])
    expect(await readdir(folder)).toEqual([])
  })

  it('changes, saves and tells what changed', async () => {
    const settings = await openSettings()
    const changes: unknown[] = []
    settings.onChange((_, changed) => changes.push(changed))
    await settings.set({ theme: 'dark', notifications: true })
    expect(await onDisk()).toEqual({ theme: 'dark', notifications: true })
    expect((await openSettings()).current.theme).toBe('dark')
    expect(changes).toEqual([{ theme: 'dark' }])
  })

  it.each([
    [{ url: 'http://127.0.0.1:1' }, 'settings.externalAppServer.url: expected ws:// or wss://'],
    [{ url: 'ws://198.51.100.7:1' }, 'settings.externalAppServer.url: ws:// is for this machine only'],
    [{ url: 'ws://u:p@127.0.0.1:1' }, 'settings.externalAppServer.url: expected no user or password'],
    [{ url: 'nowhere' }, 'settings.externalAppServer.url: expected an address'],
    [{ url: 'ws://127.0.0.1:1', tokenFile: 'token' }, 'settings.externalAppServer.tokenFile: expected the whole path'],
    [{ command: [] }, 'settings.externalAppServer.command: expected a program'],
    [{ command: ['codex'], tokenFile: '/t' }, 'settings.externalAppServer.tokenFile: a command takes no token'],
    [{ command: ['codex'], url: 'ws://127.0.0.1:1' }, 'settings.externalAppServer: expected either a url or a command'],
    [{}, 'settings.externalAppServer: expected either a url or a command'],
  ])('another server %j is refused: %s', async (externalAppServer, problem) => {
    await expect((await openSettings()).set({ externalAppServer })).rejects.toThrow(problem)
  })

  it('keeps another server, and none', async () => {
    const settings = await openSettings()
    for (const externalAppServer of [
      { url: 'wss://host.example/x', tokenFile: '/home/me/token' },
      { url: 'ws://[::1]:4500' },
      { command: ['codex', 'app-server'] },
      null,
    ]) {
      await settings.set({ externalAppServer })
      expect((await openSettings()).current.externalAppServer).toEqual(externalAppServer)
    }
  })

  it('names a bad field, uses its default and keeps the text in the file', async () => {
    await writeFile(path, '{"theme":"pink","unknownHost":"block","mcpPort":70000}')
    const settings = await openSettings()
    expect(settings.current.theme).toBe('system')
    expect(settings.current.unknownHost).toBe('block')
    expect(problems).toEqual([
      `${path}: theme: expected "system" or "dark" or "light" or "high-contrast", got "pink"; "system" is used.`,
      `${path}: mcpPort: expected 0..65535, got 70000; 0 is used.`,
    ])
    await settings.set({ notifications: false })
    expect(await onDisk()).toEqual({ theme: 'pink', unknownHost: 'block', mcpPort: 70000, notifications: false })
  })

  it('keeps and names unknown keys', async () => {
    await writeFile(path, '{"fromTheFuture":{"a":1}}')
    const settings = await openSettings()
    await settings.set({ theme: 'light' })
    expect(await onDisk()).toEqual({ fromTheFuture: { a: 1 }, theme: 'light' })
    expect(problems).toEqual([`${path}: unknown key fromTheFuture; kept, without effect.`])
  })

  it.each([['{"theme":'], ['[1]'], ['null'], ['']])(
    'moves a corrupt file (%j) aside and starts with defaults',
    async (text) => {
      await writeFile(path, text)
      const settings = await openSettings()
      expect(settingsView(settings.current)).toEqual(DEFAULTS)
      const aside = 'settings.json.corrupt-20260102T000000000Z'
      expect(await readdir(folder)).toEqual([aside])
      expect(await readFile(join(folder, aside), 'utf8')).toBe(text)
      expect(problems[0]).toContain(`is corrupt (`)
      expect(problems[0]).toContain(aside)
    },
  )

  it('moves a file aside that is not UTF-8', async () => {
    await writeFile(path, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))
    await openSettings()
    expect(await readdir(folder)).toEqual(['settings.json.corrupt-20260102T000000000Z'])
  })

  it('E106 leaves the old content when the new one cannot be written', async () => {
    await writeFile(path, '{"theme":"dark"}')
    const settings = await openSettings()
    await mkdir(join(folder, 'settings.json.tmp'))
    await settings.set({ theme: 'light' })
    expect(await onDisk()).toEqual({ theme: 'light' })
    // A folder in the place of the file cannot be read or replaced, not even by root.
    const blocked = join(folder, 'blocked.json')
    await mkdir(blocked)
    const store = await SettingsStore.open({ path: blocked, onProblem: (message) => problems.push(message) })
    expect(problems).toEqual([
      `${blocked} cannot be read: it is a folder, not a file (EISDIR). Defaults hold; the file is not written over.`,
    ])
    await expect(store.set({ theme: 'dark' })).rejects.toThrow('The settings were not changed')
    expect(store.current.theme).toBe('system')
    expect((await readdir(folder)).sort()).toEqual(['blocked.json', 'settings.json', 'settings.json.tmp'])
  })

  it('refuses a bad change by name and applies nothing of it', async () => {
    const settings = await openSettings()
    await expect(settings.set({ theme: 'dark', agentGate: 'never' })).rejects.toThrow(
      'settings.agentGate: expected "observe" or "ask" or "enforce", got "never"',
    )
    await expect(settings.set({ colour: 1 })).rejects.toThrow('settings.colour: there is no such setting')
    expect(settings.current.theme).toBe('system')
    expect(await readdir(folder)).toEqual([])
  })

  it('does not lose a change made by hand or at the same time', async () => {
    const settings = await openSettings()
    await writeFile(path, '{"proxyPort":3128}')
    await Promise.all([
      settings.set({ theme: 'dark' }),
      settings.set({ notifications: false }),
      settings.set({ theme: 'light' }),
    ])
    expect(await onDisk()).toEqual({ proxyPort: 3128, theme: 'light', notifications: false })
  })
})
