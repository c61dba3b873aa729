/** Where the keys of providers come from: environment variables and the keychain. */
import { systemKeychain, type Keychain } from './keychain.ts'

export interface ProviderSecrets {
  /** The value of an environment variable; undefined when it is unset or empty. */
  variable(name: string): Promise<string | undefined>
  /** The key kept for a provider, or null. Rejects with KeychainError. */
  kept(providerId: string): Promise<string | null>
  /** Keeps or forgets a key. Rejects with KeychainError. */
  keep(providerId: string, key: string | null): Promise<void>
}

/** A key that was changed elsewhere is noticed after this long; asking costs a process. */
const REMEMBERED_MS = 60_000

/** Variables of this process, or whatever `lookUp` says of them, and the system's keychain. */
export class SystemSecrets implements ProviderSecrets {
  private readonly remembered = new Map<string, { untilMs: number; key: string }>()

  constructor(
    private readonly lookUp: (name: string) => Promise<string | undefined> | string | undefined = (name) =>
      process.env[name],
    private readonly keychain: Keychain = systemKeychain(),
    private readonly nowMs: () => number = Date.now,
  ) {}

  async variable(name: string): Promise<string | undefined> {
    const value = await this.lookUp(name)
    return value === undefined || value.trim() === '' ? undefined : value
  }

  async kept(providerId: string): Promise<string | null> {
    const known = this.remembered.get(providerId)
    if (known && known.untilMs > this.nowMs()) return known.key
    const key = await this.keychain.read(providerId)
    if (key === null) this.remembered.delete(providerId)
    else this.remembered.set(providerId, { untilMs: this.nowMs() + REMEMBERED_MS, key })
    return key
  }

  async keep(providerId: string, key: string | null): Promise<void> {
    this.remembered.delete(providerId)
    await this.keychain.write(providerId, key)
  }
}
