import { isAbsolute } from 'node:path'
import type { ExternalAppServerView, SettingsView } from '../../preload/api.ts'
import {
  array,
  boolean,
  decode,
  DecodeError,
  integer,
  literal,
  nullable,
  object,
  optional,
  record,
  string,
  type Decoder,
} from '../../sidecars/protocol/decode.ts'

/** Everything that settings.json may say. Each name is the key in the file. */
export interface Settings extends Required<SettingsView> {
  /** Loopback ports that outside agents use; 0 = one that is free at each start. */
  execServerPort: number
  mcpPort: number
  /** Loopback port for clients of the app-server protocol of the owner, who bring a token of their own; null = not offered. */
  appServerPort: number | null
  proxyPort: number
  /** Lets commands reach and serve every address of this machine and its networks. Wide; off by default. */
  allowLocalBinding: boolean
  /** What the proxy lets through of allowed hosts: everything, or only what reads (GET, HEAD, OPTIONS). */
  networkMode: 'full' | 'limited'
  /** Opens HTTPS of commands at the proxy, so that requests are judged and seen one by one. */
  inspectHttps: boolean
  /** Projects that bring rules of their own, by their real path: whether these are in force. */
  projects: Record<string, 'trusted' | 'untrusted'>
  /** Output kept on disk per process. */
  spoolBytes: number
}

const shortcut: Decoder<string> = (value, path) => {
  const text = string(value, path)
  if (text.trim() === '' || text.length > 100)
    throw new DecodeError(path, 'expected a shortcut such as "CommandOrControl+Shift+G", or null for none')
  return text
}
const port = integer(0, 65535)

const externalAppServer: Decoder<ExternalAppServerView> = (value, path) => {
  const given = object({ url: optional(string), tokenFile: optional(string), command: optional(array(string)) })(
    value,
    path,
  )
  const { url, tokenFile, command } = given
  if ((url === undefined) === (command === undefined)) throw new DecodeError(path, 'expected either a url or a command')
  if (url !== undefined) checkServerAddress(url, `${path}.url`)
  if (tokenFile !== undefined && !isAbsolute(tokenFile))
    throw new DecodeError(`${path}.tokenFile`, 'expected the whole path of the file, such as /home/you/token')
  if (tokenFile !== undefined && url === undefined)
    throw new DecodeError(`${path}.tokenFile`, 'a command takes no token; leave it out')
  if (command !== undefined && (command.length === 0 || command.includes('')))
    throw new DecodeError(`${path}.command`, 'expected a program and its arguments, such as codex app-server')
  return given
}

/** A token or a transcript must not cross a network unprotected. */
function checkServerAddress(text: string, path: string): void {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new DecodeError(path, 'expected an address such as ws://127.0.0.1:4500')
  }
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:')
    throw new DecodeError(path, `expected ws:// or wss://, got ${url.protocol}//`)
  if (url.protocol === 'ws:' && !/^(?:127(?:\.\d+){3}|\[::1\]|localhost)$/.test(url.hostname))
    throw new DecodeError(path, `ws:// is for this machine only; use wss:// for ${url.hostname}`)
  if (url.username !== '' || url.password !== '')
    throw new DecodeError(path, 'expected no user or password in it; put the token into a file')
}

const FIELDS: { [K in keyof Settings]: { decoder: Decoder<Settings[K]>; fallback: Settings[K] } } = {
  theme: { decoder: literal('system', 'dark', 'light', 'high-contrast'), fallback: 'system' },
  unknownHost: { decoder: literal('ask', 'block'), fallback: 'ask' },
  agentGate: { decoder: literal('observe', 'ask', 'enforce'), fallback: 'observe' },
  notifications: { decoder: boolean, fallback: true },
  globalShortcut: { decoder: nullable(shortcut), fallback: null },
  keepInTray: { decoder: boolean, fallback: true },
  agentPostures: { decoder: record(literal('observe', 'ask', 'enforce')), fallback: {} },
  readCodexRules: { decoder: boolean, fallback: false },
  projects: { decoder: record(literal('trusted', 'untrusted')), fallback: {} },
  execServerPort: { decoder: port, fallback: 0 },
  mcpPort: { decoder: port, fallback: 0 },
  appServerPort: { decoder: nullable(port), fallback: null },
  proxyPort: { decoder: port, fallback: 0 },
  allowLocalBinding: { decoder: boolean, fallback: false },
  networkMode: { decoder: literal('full', 'limited'), fallback: 'full' },
  inspectHttps: { decoder: boolean, fallback: false },
  externalAppServer: { decoder: nullable(externalAppServer), fallback: null },
  spoolBytes: { decoder: integer(0), fallback: 256 * 1024 * 1024 },
}
const NAMES = Object.keys(FIELDS) as (keyof Settings)[]

export interface ReadSettings {
  settings: Settings
  /** One sentence per field that was not taken over, each naming it. */
  problems: string[]
  unknownKeys: string[]
}

/** Settings from the object in the file: a bad field falls back alone, an unknown one is only named. */
export function readSettings(raw: Record<string, unknown>): ReadSettings {
  const problems: string[] = []
  const settings = {} as Record<string, unknown>
  for (const name of NAMES) {
    const { decoder, fallback } = FIELDS[name]
    settings[name] = fallback
    if (!Object.hasOwn(raw, name)) continue
    try {
      settings[name] = decoder(raw[name], name)
    } catch (error) {
      problems.push(`${(error as Error).message}; ${JSON.stringify(fallback)} is used`)
    }
  }
  const unknownKeys = Object.keys(raw).filter((key) => !Object.hasOwn(FIELDS, key))
  return { settings: settings as unknown as Settings, problems, unknownKeys }
}

/**
 * A change as it may be applied: known fields with good values.
 * @throws DecodeError naming the field
 */
export function decodeChange(change: object): Partial<Settings> {
  const decoded: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) continue
    if (!Object.hasOwn(FIELDS, name)) throw new DecodeError(`settings.${name}`, 'there is no such setting')
    decoded[name] = decode<unknown>(FIELDS[name as keyof Settings].decoder, value, `settings.${name}`)
  }
  return decoded as Partial<Settings>
}

/** What the window sees. */
export function settingsView(settings: Settings): SettingsView {
  const { theme, unknownHost, agentGate, notifications, globalShortcut, keepInTray } = settings
  const { agentPostures, readCodexRules, networkMode, inspectHttps, externalAppServer } = settings
  return {
    theme,
    unknownHost,
    agentGate,
    notifications,
    globalShortcut,
    keepInTray,
    agentPostures,
    readCodexRules,
    networkMode,
    inspectHttps,
    externalAppServer,
  }
}
