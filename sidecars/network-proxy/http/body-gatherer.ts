/** A whole request body in memory, for the few that have to be looked into before they may go on. */
import { BodyReader } from './body-reader.ts'
import { BodyRefused } from './body-refused.ts'
import type { Framing } from './fields.ts'

export class BodyGatherer {
  private readonly reader: BodyReader
  private readonly parts: Buffer[] = []
  private lengthBytes = 0

  /** @throws BodyRefused when the body says that it is larger than `maxBytes` */
  constructor(
    framing: Framing,
    private readonly maxBytes: number,
  ) {
    if (framing.kind === 'length') this.checkLength(framing.bytes)
    this.reader = BodyReader.of(framing)
  }

  get done(): boolean {
    return this.reader.done
  }

  /** Returns the offset of the first byte after the body. @throws BodyRefused, MalformedHttp */
  read(bytes: Buffer): number {
    return this.reader.read(bytes, 0, (start, end) => {
      this.lengthBytes += end - start
      this.checkLength(this.lengthBytes)
      this.parts.push(Buffer.from(bytes.subarray(start, end)))
    })
  }

  take(): Buffer {
    return Buffer.concat(this.parts.splice(0))
  }

  private checkLength(bytes: number): void {
    if (bytes > this.maxBytes) throw BodyRefused.tooLarge(this.maxBytes)
  }
}
