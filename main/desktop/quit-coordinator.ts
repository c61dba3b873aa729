import { app } from 'electron'

export interface QuitSteps {
  /** What the owner sees go first. Must not throw. */
  hide(): void
  /** Ends everything the app started; resolves within the deadline or is given up on. */
  stop(deadlineMs: number): Promise<void>
}

/** The whole goodbye fits into five seconds, process trees that ignore SIGTERM included. */
const STOP_DEADLINE_MS = 4_000
/** For a stop that does not even keep its own deadline. */
const GIVE_UP_MS = 4_600

/**
 * The one way out: menu, tray, SIGTERM, the end of the desktop session all arrive as `before-quit`,
 * which is held once, and the process ends when everything it started has.
 */
export function coordinateQuit(steps: QuitSteps): void {
  let isStopping = false
  app.on('before-quit', (event) => {
    event.preventDefault()
    if (isStopping) return
    isStopping = true
    steps.hide()
    const giveUp = setTimeout(() => {
      console.error(`the host did not stop within ${GIVE_UP_MS} ms`)
      app.exit(1)
    }, GIVE_UP_MS)
    steps.stop(STOP_DEADLINE_MS).then(
      () => {
        clearTimeout(giveUp)
        app.exit(0)
      },
      (error: unknown) => {
        console.error(`the host did not stop cleanly: ${String(error)}`)
        app.exit(1)
      },
    )
  })
}
