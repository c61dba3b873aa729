import type { Fill, MessagePiece } from './message-piece.ts'

/** What carries whole messages of one connection: WebSocket frames or lines, as bytes. */

export interface CarrierHandlers {
  /**
   * One message. Bytes of one shorter than {@link KEPT_MESSAGE_BYTES} are only good until the call
   * returns; those of a longer one are the receiver's.
   */
  onMessage(message: Buffer): void
  /** A message that cannot be handed over (too long, for example); the carrier lives on. */
  onProblem(problem: string): void
  /** The queue fell below its low-water mark after having been congested. */
  onDrained(): void
  /** Once, last. */
  onClose(reason: string): void
}

/**
 * Messages leave in the order of the calls. After the close everything is ignored.
 */
export interface Carrier {
  /** Names the connection in answers to malformed messages and in logs. */
  readonly label: string
  /** How this carrier is called in "failed to parse …". */
  readonly kind: 'websocket JSON-RPC message' | 'JSON-RPC message'
  start(handlers: CarrierHandlers): void
  /** One message given as JSON text. */
  sendText(text: string): void
  /** One message of exactly `sizeBytes`, written in place by `fill` before this returns. */
  sendFilled(sizeBytes: number, fill: Fill): void
  /**
   * One long message in parts: `pieces`, then `last`. Messages sent meanwhile wait behind it. Resolves
   * when the last part is queued; a piece is asked for only when the queue has room, and is written before
   * the next one is asked for. A source that fails closes the carrier: half a message cannot be taken back.
   */
  sendParts(pieces: AsyncIterable<MessagePiece>, last: MessagePiece): Promise<void>
  /** Bytes queued here and not yet taken by the operating system. */
  readonly queuedBytes: number
  /** True from the high-water mark until the low-water mark is reached again. */
  readonly isCongested: boolean
  /** Stops and restarts reading; the other side is held back by the operating system. */
  pause(): void
  resume(): void
  /** Drops the connection at once, without a closing handshake. Queued bytes may be lost. */
  close(reason: string): void
}

/** From this size on a message has memory of its own, so that its parts need no copying. */
export const KEPT_MESSAGE_BYTES = 32 * 1024
/** Above this a connection counts as congested and its processes are held back. */
export const HIGH_WATER_BYTES = 1024 * 1024
export const LOW_WATER_BYTES = 256 * 1024
