/** Folders as people know them: the home folder is `~`. */
import type { FeedState } from '../feed/feed-state.ts'

/** The owner's home when the data folder lies at its usual place in it; null when that cannot be told. */
export function homeFolder(host: FeedState['host']): string | null {
  const match = /^(.+)[/\\]\.gatehouse$/.exec(host?.dataDir ?? '')
  return match?.[1] ?? null
}

/** `/home/ada/src` as `~/src`; other paths as they are. */
export function shortenPath(path: string, home: string | null): string {
  if (home === null || (path !== home && !path.startsWith(`${home}/`))) return path
  return `~${path.slice(home.length)}`
}

export function selectHome(state: FeedState): string | null {
  return homeFolder(state.host)
}
