/** Single variables of the owner, such as the key of a model provider, looked up when somebody needs one. */
import { readLoginEnvironment } from './login-environment.ts'

/** A profile that was changed is noticed after this long; asking a login shell takes its time. */
const REMEMBERED_MS = 60_000

export class OwnerVariables {
  private readonly remembered = new Map<string, { untilMs: number; value: string | null }>()

  constructor(
    private readonly readEnvironment: typeof readLoginEnvironment = readLoginEnvironment,
    private readonly env: NodeJS.ProcessEnv = process.env,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** What the host was started with, else what a new terminal would have; null when neither knows it. */
  async get(name: string): Promise<string | null> {
    const own = this.env[name]
    if (own !== undefined && own !== '') return own
    const known = this.remembered.get(name)
    if (known && known.untilMs > this.nowMs()) return known.value
    const { also } = await this.readEnvironment({ alsoNames: [name] })
    const value = also?.[name] || null
    this.remembered.set(name, { untilMs: this.nowMs() + REMEMBERED_MS, value })
    return value
  }
}
