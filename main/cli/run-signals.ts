import type { RemoteRun, RunSignal } from './remote-run.ts'

const FORWARDED: Partial<Record<NodeJS.Signals, RunSignal>> = {
  SIGINT: 'interrupt',
  SIGTERM: 'terminate',
  SIGHUP: 'hangup',
  SIGQUIT: 'quit',
}

/**
 * Signals to this process go to the run, whose end then ends us. Ctrl-Z stops both.
 * Returns whether a signal came.
 */
export function forwardSignals(run: RemoteRun, disposers: (() => void)[]): () => boolean {
  let cameOne = false
  const listen = (signal: NodeJS.Signals, listener: () => void) => {
    process.on(signal, listener)
    disposers.push(() => process.off(signal, listener))
  }
  for (const [signal, name] of Object.entries(FORWARDED) as [NodeJS.Signals, RunSignal][])
    listen(signal, () => {
      cameOne = true
      run.signal(name)
    })
  listen('SIGTSTP', () => {
    run.signal('stop')
    // After the message has left.
    setTimeout(() => process.kill(process.pid, 'SIGSTOP'), 20)
  })
  listen('SIGCONT', () => run.signal('continue'))
  return () => cameOne
}
