import { readFile } from 'node:fs/promises'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { describeDiskTrouble } from '../storage/disk-trouble.ts'
import { keepAside } from '../storage/keep-aside.ts'
import { replaceFile } from '../storage/replace-file.ts'
import { decodeChange, readSettings, type Settings } from './settings-fields.ts'

export { settingsView, type Settings } from './settings-fields.ts'

export interface SettingsOptions {
  path: string
  /** Sentences for the owner: a corrupt file, a bad field, an unknown key. */
  onProblem: (message: string) => void
  now?: () => number
}

type Raw = Record<string, unknown>

/**
 * The owner's settings in one JSON file.
 *
 * A file that is not a JSON object is moved aside and the defaults hold; a file that cannot be read is
 * left alone and never written over. Keys that this version does not know, and bad values of fields
 * nobody touched, stay in the file as they are.
 */
export class SettingsStore {
  private readonly listeners = new Set<(settings: Settings, changed: Partial<Settings>) => void>()
  private writes: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly options: SettingsOptions,
    private settings: Settings,
  ) {}

  /** Reads the file; never rejects because of its content or permissions. */
  static async open(options: SettingsOptions): Promise<SettingsStore> {
    const raw = await readRaw(options).catch(async (error: unknown) => {
      const cause = await describeDiskTrouble(error, options.path)
      options.onProblem(`${options.path} cannot be read: ${cause}. Defaults hold; the file is not written over.`)
      return {}
    })
    const { settings, problems, unknownKeys } = readSettings(raw)
    for (const problem of problems) options.onProblem(`${options.path}: ${problem}.`)
    if (unknownKeys.length > 0)
      options.onProblem(
        `${options.path}: unknown ${unknownKeys.length === 1 ? 'key' : 'keys'} ${unknownKeys.join(', ')}; kept, without effect.`,
      )
    return new SettingsStore(options, settings)
  }

  get current(): Settings {
    return this.settings
  }

  /**
   * Changes some fields: on disk first, then in force. The file is read again before, so that an edit
   * made by hand meanwhile is not lost.
   * @throws DecodeError naming a bad field; RpcError `unavailable` when the file cannot be written (nothing changes then)
   */
  async set(change: object): Promise<Settings> {
    const decoded = decodeChange(change)
    const write = this.writes.then(() => this.save(decoded))
    this.writes = write.catch(() => {})
    await write
    return this.settings
  }

  /** Calls back after each change with what changed. */
  onChange(listener: (settings: Settings, changed: Partial<Settings>) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  private async save(change: Partial<Settings>): Promise<void> {
    const { path } = this.options
    try {
      const raw = await readRaw(this.options)
      await replaceFile(path, `${JSON.stringify({ ...raw, ...change }, null, 2)}\n`)
    } catch (error) {
      throw new RpcError(
        'unavailable',
        `The settings were not changed: ${path} cannot be written: ${await describeDiskTrouble(error, path)}.`,
        undefined,
        { cause: error },
      )
    }
    const changed = Object.fromEntries(
      Object.entries(change).filter(([name, value]) => this.settings[name as keyof Settings] !== value),
    ) as Partial<Settings>
    this.settings = { ...this.settings, ...change }
    if (Object.keys(changed).length > 0) for (const listener of this.listeners) listener(this.settings, changed)
  }
}

/** The object in the file; an empty one when there is no file or it was corrupt and is now aside. */
async function readRaw({ path, onProblem, now = Date.now }: SettingsOptions): Promise<Raw> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  try {
    return parseObject(bytes)
  } catch (error) {
    const aside = await keepAside(path, now())
    onProblem(`${path} is corrupt (${(error as Error).message}). It was kept as ${aside}; defaults hold.`)
    return {}
  }
}

function parseObject(bytes: Buffer): Raw {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('expected a JSON object')
  return value as Raw
}
