import type { OutputStream } from '../../protocol/host-channel.ts'
import type { OutputBlock } from './output-block.ts'

/** How a child ended. Exactly one of `code` and `signal` is set. */
export interface ChildExit {
  code: number | null
  signal: NodeJS.Signals | null
  /** A sentence for people, where there is more to say. */
  detail?: string
}

export interface ChildEvents {
  /** `block` holds the bytes and is the receiver's to release; without it the bytes are its own. */
  onOutput(stream: OutputStream, bytes: Buffer, block: OutputBlock | undefined): void
  /** Once, when the child itself has ended; output may follow. */
  onExit(exit: ChildExit): void
  /** Once, when no output can come any more. */
  onOutputEnd(): void
}

/** What the child's standard input is. */
export type StdinKind = 'none' | 'pipe' | 'tty'

/** A started process and the streams that lead to it. */
export interface Child {
  /** Also its process group and session. */
  readonly pid: number
  readonly stdin: StdinKind
  /**
   * Names of the pipes or the terminal it prints to, as /proc/PID/fd shows them. Only those that are open
   * here: as soon as one is not, its name may be somebody else's.
   */
  readonly outputPaths: readonly string[]
  /**
   * Queues bytes for stdin, in the order of the calls. Ignored when stdin has ended or nobody reads it
   * any more. A promise when it has to be found out whether they can be delivered; it then rejects with
   * LineTooLongError and nothing of `bytes` was queued.
   */
  write(bytes: Buffer): void | Promise<void>
  /** Ends stdin after what is queued. On a terminal: the end-of-file character. */
  endInput(): void
  /** Bytes queued for stdin that the child has not taken. */
  readonly queuedInputBytes: number
  /** Stops and restarts the reading of output; the child blocks when its pipe is full. */
  pause(): void
  resume(): void
  /** @throws RangeError for sizes a terminal cannot have; ignored for pipes and after the end */
  resize(columns: number, rows: number): void
  /** Lets go of every descriptor; output that was not read is lost. */
  dispose(): void
}

/** Everything that is needed to start one; `program` is the file that is executed. */
export interface ChildSpec {
  program: string
  /** What the program sees as its arguments; [0] is the name it sees for itself. */
  argv: readonly string[]
  cwd: string
  environment: Record<string, string>
  /** Descriptors of ours that the child finds as 3, 4 and so on. Only for pipes; they stay open here. */
  inheritedFds?: readonly number[]
  /** The program closes what it inherits before anything else runs. Only for terminals. */
  closesInherited?: boolean
  /**
   * Words in front of `argv` that close what a child of the server itself inherits beyond `inheritedFds`. Not asked
   * for when somebody starts it who has nothing open.
   */
  closingWords?: () => readonly string[]
  /** First size of a terminal; 80 by 24 when absent. */
  terminal?: { columns: number; rows: number }
}
