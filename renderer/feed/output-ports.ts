/** Output ports of processes: asked for through the host, delivered as window messages of our own origin. */
import type { GatehouseApi, Outcome } from '../../preload/api.ts'

/** The port normally arrives with or before the answer; a host that answers but sends none is at fault. */
const PORT_DEADLINE_MS = 5_000

export interface OutputPorts {
  /**
   * Opens a live port with everything after `afterSeq`. The caller owns the port and must post
   * `{type:'detach'}` and close it. An answer that is not ok names why there is no port.
   */
  open(processId: string, afterSeq: number): Promise<Outcome<MessagePort>>
  dispose(): void
}

/** The port and the answer of `processes.attach` come in either order, so both are matched by a token. */
export function createOutputPorts(api: GatehouseApi, page: Window = window): OutputPorts {
  const waiting = new Map<string, (port: MessagePort) => void>()
  let opened = 0

  const onMessage = (event: MessageEvent<unknown>): void => {
    if (event.source !== page || event.origin !== page.location.origin) return
    const message = event.data as { type?: unknown; token?: unknown } | null
    if (message?.type !== 'gatehouse.output' || typeof message.token !== 'string') return
    const [port] = event.ports
    if (!port) return
    const deliver = waiting.get(message.token)
    waiting.delete(message.token)
    if (deliver) deliver(port)
    else port.close()
  }
  page.addEventListener('message', onMessage)

  return {
    async open(processId, afterSeq) {
      opened += 1
      const token = `${opened}-${Math.random().toString(36).slice(2)}`
      let timer: ReturnType<typeof setTimeout> | undefined
      const arrival = new Promise<MessagePort>((resolve) => waiting.set(token, resolve))
      try {
        const answer = await api.invoke('processes.attach', processId, afterSeq, token)
        if (!answer.ok) return answer
        const late = new Promise<null>((resolve) => {
          timer = setTimeout(() => resolve(null), PORT_DEADLINE_MS)
        })
        const port = await Promise.race([arrival, late])
        if (port) return { ok: true, value: port }
        return { ok: false, code: 'timedOut', message: 'The output did not arrive. Open the process again.' }
      } finally {
        clearTimeout(timer)
        waiting.delete(token)
      }
    },
    dispose() {
      page.removeEventListener('message', onMessage)
      waiting.clear()
    },
  }
}
