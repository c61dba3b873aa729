import type { ServerContext } from '@modelcontextprotocol/server'

/** A quick command makes no noise. */
const FIRST_AFTER_MS = 300
/** Clients with an idle timer cut silent calls; the shortest known timer is 10 s. */
const REPEAT_MS = 5_000

/**
 * Tells a client that asked for it how its call is doing: soon, at every change, and regularly in
 * between; never after the result. `describe` words the state of the moment.
 */
export async function withProgress<T>(
  context: ServerContext,
  describe: () => string,
  work: (changed: () => void) => Promise<T>,
): Promise<T> {
  const { _meta: meta } = context.mcpReq
  const progressToken = meta?.progressToken
  if (progressToken === undefined) return await work(() => {})
  let progress = 0
  let lastMessage = ''
  const tell = () => {
    lastMessage = describe()
    // A client that is gone ends the call by its signal; a lost progress message says nothing new.
    context.mcpReq
      .notify({
        method: 'notifications/progress',
        params: { progressToken, progress: ++progress, message: lastMessage },
      })
      .catch(() => {})
  }
  const first = setTimeout(tell, FIRST_AFTER_MS)
  const repeat = setInterval(tell, REPEAT_MS)
  try {
    return await work(() => {
      if (progress > 0 && describe() !== lastMessage) tell()
    })
  } finally {
    clearTimeout(first)
    clearInterval(repeat)
  }
}
