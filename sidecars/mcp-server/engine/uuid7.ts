import { randomFillSync } from 'node:crypto'

const random = Buffer.alloc(10)
let lastMs = 0
let counter = 0

/**
 * A UUID of version 7 (RFC 9562): sorts by time of making, also within one millisecond (the twelve
 * bits behind the time count up).
 */
export function uuid7(nowMs = Date.now()): string {
  randomFillSync(random)
  if (nowMs > lastMs) {
    lastMs = nowMs
    counter = random.readUInt16BE(8) & 0x3ff
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  const time = lastMs.toString(16).padStart(12, '0')
  const sequence = counter.toString(16).padStart(3, '0')
  const variant = ((random[0]! & 0x3f) | 0x80).toString(16)
  const rest = random.toString('hex', 1, 8)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${variant}${rest.slice(0, 2)}-${rest.slice(2)}`
}
