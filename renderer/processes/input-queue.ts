/** Sends what is typed in the order in which it was typed: a piece starts when the one before is delivered. */
import type { Outcome } from '../../preload/api.ts'

export class InputQueue {
  private waiting = ''
  private sending = false

  constructor(
    private readonly send: (text: string) => Promise<Outcome<null>>,
    private readonly onFailure: (message: string) => void,
  ) {}

  /** Pieces that wait are sent together. After a failure what still waits is given up, and said so. */
  push(text: string): void {
    this.waiting += text
    if (!this.sending) void this.drain()
  }

  private async drain(): Promise<void> {
    this.sending = true
    while (this.waiting !== '') {
      const text = this.waiting
      this.waiting = ''
      const outcome = await this.send(text)
      if (outcome.ok) continue
      const lost = this.waiting.length
      this.waiting = ''
      this.onFailure(lost > 0 ? `${outcome.message} ${lost} more characters were not sent.` : outcome.message)
    }
    this.sending = false
  }
}
