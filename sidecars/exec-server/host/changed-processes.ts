import type { ProcessFacts } from '../../protocol/host-channel.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'

/** While only counts change, a process is reported at most this often. */
const INTERVAL_MS = 100

/** Reports changed processes: a new state at once, growing counts now and then. */
export class ChangedProcesses {
  private readonly lastState = new Map<ManagedProcess, string>()
  private readonly waiting = new Map<ManagedProcess, NodeJS.Timeout>()

  constructor(private readonly report: (facts: ProcessFacts) => void) {}

  note(process: ManagedProcess): void {
    const { state } = process
    if (this.lastState.get(process) !== state) {
      this.lastState.set(process, state)
      clearTimeout(this.waiting.get(process))
      this.waiting.delete(process)
      this.report(process.facts())
    } else if (!this.waiting.has(process)) {
      const timer = setTimeout(() => {
        this.waiting.delete(process)
        this.report(process.facts())
      }, INTERVAL_MS)
      timer.unref()
      this.waiting.set(process, timer)
    }
  }

  drop(process: ManagedProcess): void {
    clearTimeout(this.waiting.get(process))
    this.waiting.delete(process)
    this.lastState.delete(process)
  }
}
