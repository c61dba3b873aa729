/** Requests to a local unix socket, asked for by the header `x-unix-socket` (macOS only). */
import { realpath } from 'node:fs/promises'
import { isAbsolute, normalize } from 'node:path'
import type { Refusal } from './refusal.ts'

export const UNIX_SOCKET_HEADER = 'x-unix-socket'
/** How such a destination is called in records; its port is 0. */
export const UNIX_SOCKET_HOST = 'unix-socket'

export interface UnixSocketSettings {
  allowAll: boolean
  paths: Record<string, 'allow' | 'deny'>
}

/** Verdict on a path that a client names. */
export async function judgeUnixSocket(
  path: string,
  settings: UnixSocketSettings,
  platform: NodeJS.Platform = process.platform,
): Promise<Refusal | undefined> {
  if (platform !== 'darwin') return { reason: 'unix_socket_unsupported', source: 'proxy_state' }
  if (!isAbsolute(path) || path.includes('\0')) return { reason: 'not_allowed', source: 'baseline_policy' }
  if (await isListed(path, settings.paths, 'deny')) return { reason: 'denied', source: 'baseline_policy' }
  if (settings.allowAll || (await isListed(path, settings.paths, 'allow'))) return undefined
  return { reason: 'not_allowed', source: 'baseline_policy' }
}

/** Equal as written, or equal once every symlink is followed on both sides. */
async function isListed(path: string, paths: UnixSocketSettings['paths'], verdict: 'allow' | 'deny'): Promise<boolean> {
  const listed = Object.keys(paths).filter((entry) => paths[entry] === verdict)
  if (listed.some((entry) => normalize(entry) === normalize(path))) return true
  const real = await resolved(path)
  if (real === undefined) return false
  for (const entry of listed) if ((await resolved(entry)) === real) return true
  return false
}

async function resolved(path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch {
    // What does not exist equals nothing.
    return undefined
  }
}
