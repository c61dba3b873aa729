/** `fuzzyFileSearch*`: finding a file to mention, once or as somebody types. */
import { isAbsolute } from 'node:path'
import { array, object, optional, string } from '../../../protocol/decode.ts'
import { listFiles } from '../../file-search/list-files.ts'
import { searchFiles, type ListedRoot } from '../../file-search/search-files.ts'
import type { AppConnection } from '../connection.ts'
import { method, type Method } from '../method-table.ts'
import { invalidRequest } from '../wire-error.ts'

/** One file picker of a client. The files are listed once, when it opens. */
class SearchSession {
  private readonly listed: Promise<ListedRoot[]>
  private readonly ended = new AbortController()
  private current = new AbortController()

  constructor(
    private readonly id: string,
    roots: readonly string[],
    private readonly connection: AppConnection,
  ) {
    this.listed = listRoots(roots, this.ended.signal)
  }

  /** Searches for the newest words; an older search is given up. */
  async update(query: string): Promise<void> {
    this.current.abort()
    const { signal } = (this.current = new AbortController())
    const files = await searchFiles(await this.listed, query, signal)
    if (signal.aborted || this.ended.signal.aborted) return
    this.connection.notify('fuzzyFileSearch/sessionUpdated', { sessionId: this.id, query, files })
    this.connection.notify('fuzzyFileSearch/sessionCompleted', { sessionId: this.id })
  }

  end(): void {
    this.current.abort()
    this.ended.abort()
  }
}

const bySession = ({ sessionId }: { sessionId: string }) => ({
  key: `fuzzy:${sessionId}`,
  access: 'exclusive' as const,
})

export function fileSearchMethods(): Record<string, Method> {
  const sessions = new Map<string, SearchSession>()
  const cancellable = new Map<string, AbortController>()
  const keyOf = (connection: AppConnection, sessionId: string): string => `fuzzy:${connection.id}:${sessionId}`
  const need = (connection: AppConnection, sessionId: string): SearchSession => {
    const session = sessions.get(keyOf(connection, sessionId))
    if (!session) throw invalidRequest(`fuzzy file search session not found: ${sessionId}`)
    return session
  }
  return {
    fuzzyFileSearch: method(object({ query: string, roots: array(string), cancellationToken: optional(string) }), {
      run: async ({ query, roots, cancellationToken }) => {
        checkRoots(roots)
        const own = new AbortController()
        if (cancellationToken !== undefined) {
          // A new search with the same token takes the place of the old one.
          cancellable.get(cancellationToken)?.abort()
          cancellable.set(cancellationToken, own)
        }
        try {
          return { files: await searchFiles(await listRoots(roots, own.signal), query, own.signal) }
        } finally {
          if (cancellationToken !== undefined && cancellable.get(cancellationToken) === own)
            cancellable.delete(cancellationToken)
        }
      },
    }),
    'fuzzyFileSearch/sessionStart': method(object({ sessionId: string, roots: array(string) }), {
      experimental: true,
      queue: bySession,
      run: ({ sessionId, roots }, { connection }) => {
        if (sessionId === '') throw invalidRequest('sessionId must not be empty')
        checkRoots(roots)
        const key = keyOf(connection, sessionId)
        connection.release(key)
        const session = new SearchSession(sessionId, roots, connection)
        sessions.set(key, session)
        connection.own(key, () => {
          session.end()
          sessions.delete(key)
        })
        return {}
      },
    }),
    'fuzzyFileSearch/sessionUpdate': method(object({ sessionId: string, query: string }), {
      experimental: true,
      queue: bySession,
      run: ({ sessionId, query }, { connection, after }) => {
        const session = need(connection, sessionId)
        after(() => void session.update(query))
        return {}
      },
    }),
    'fuzzyFileSearch/sessionStop': method(object({ sessionId: string }), {
      experimental: true,
      queue: bySession,
      run: ({ sessionId }, { connection }) => {
        connection.release(keyOf(connection, sessionId))
        return {}
      },
    }),
  }
}

const listRoots = (roots: readonly string[], signal: AbortSignal): Promise<ListedRoot[]> =>
  Promise.all(roots.map(async (root) => ({ root, paths: await listFiles(root, signal) })))

function checkRoots(roots: readonly string[]): void {
  const wrong = roots.findIndex((root) => !isAbsolute(root))
  if (wrong !== -1) throw invalidRequest(`roots[${wrong}]: expected an absolute path, got "${roots[wrong]}"`)
}
