import { app, dialog } from 'electron'

/**
 * Ends a start that cannot go on: says why on stderr and, where there is a display, in a dialog that waits
 * for the owner. Never returns to the caller's work: the app exits with code 1.
 */
export async function endFailedStart(error: unknown): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error)
  console.error(`Gatehouse cannot start: ${reason}`)
  if (app.isReady())
    await dialog.showMessageBox({
      type: 'error',
      title: 'Gatehouse',
      message: 'Gatehouse cannot start',
      detail: reason,
      buttons: ['Close'],
    })
  app.exit(1)
}
