import { join } from 'node:path'

/**
 * Where Chromium keeps the window's profile, or undefined for the platform's own place. A data folder
 * chosen by hand brings a profile of its own, because the profile also decides what counts as "already
 * running": two data folders are two Gatehouses.
 */
export function windowProfileFolder(env: NodeJS.ProcessEnv): string | undefined {
  if (env.GATEHOUSE_USER_DATA) return env.GATEHOUSE_USER_DATA
  return env.GATEHOUSE_HOME ? join(env.GATEHOUSE_HOME, 'window') : undefined
}
