/** Connects a test's client to an app server in the same process. */
import { memoryPair } from '../rpc/memory-transport.ts'
import type { Transport } from '../rpc/transport.ts'
import { AppServerClient } from './app-server-client.ts'

export function memoryClient(server: { serve(transport: Transport): unknown }): AppServerClient {
  const [mine, theirs] = memoryPair('test')
  let onText: (text: string) => void = () => undefined
  let onClose: () => void = () => undefined
  const client = new AppServerClient({
    send: (text) => mine.send(text),
    close: () => mine.close(),
    onText: (listener) => (onText = listener),
    onClose: (listener) => (onClose = listener),
  })
  mine.start({ onMessage: (text) => onText(text), onProblem: () => undefined, onClose: () => onClose() })
  server.serve(theirs)
  return client
}
