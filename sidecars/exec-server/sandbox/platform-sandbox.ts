import { BubblewrapSandbox, type SandboxOptions } from './bubblewrap.ts'
import { refusingSandbox, type Sandbox } from './sandbox.ts'
import { SeatbeltSandbox } from './seatbelt.ts'

/** The sandbox of the system we run on. */
export function platformSandbox(options: SandboxOptions): Sandbox {
  switch (process.platform) {
    case 'linux':
      return new BubblewrapSandbox(options)
    case 'darwin':
      return new SeatbeltSandbox(options)
    default:
      return refusingSandbox(
        'Windows has no sandbox that this exec server can make; run the command without one, or on Linux (WSL) or macOS',
      )
  }
}
