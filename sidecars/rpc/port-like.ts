/** One end of a MessagePort as Electron hands it over (MessagePortMain), only what we use. */
export interface PortLike {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { data: unknown }) => void): void
  on(event: 'close', listener: () => void): void
  start(): void
  close(): void
}
