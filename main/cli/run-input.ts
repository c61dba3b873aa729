import { isHostGone } from '../control/control-client.ts'
import type { RemoteRun } from './remote-run.ts'

/**
 * Sends stdin to the run, no faster than the command takes it. With a terminal, keys go through as they
 * are (Ctrl-C included) and the size follows; the terminal's mode is restored by the disposer.
 */
export function forwardInput(run: RemoteRun, isTty: boolean, disposers: (() => void)[]): void {
  const { stdin, stdout } = process
  if (isTty) {
    stdin.setRawMode(true)
    const resize = () => run.resize(stdout.columns, stdout.rows)
    stdout.on('resize', resize)
    disposers.push(() => {
      stdin.setRawMode(false)
      stdout.off('resize', resize)
    })
  }
  const forward = (chunk: Buffer) => {
    stdin.pause()
    run.write(chunk).then(
      () => stdin.resume(),
      // The command closed its input or ended; what else there is to say comes with its end.
      (error: unknown) => {
        if (!isHostGone(error)) stdin.resume()
      },
    )
  }
  stdin.on('data', forward)
  stdin.once('end', () => run.endInput())
  disposers.push(() => {
    stdin.off('data', forward)
    // A pipe whose writer lives on would keep this process alive.
    stdin.destroy()
  })
}
