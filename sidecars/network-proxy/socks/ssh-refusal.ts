/**
 * A refusal in the words of SSH. A SOCKS reply has no room for a reason, and programs that carry SSH over
 * SOCKS print nothing of it; what a server says before it is connected, ssh prints as it is.
 */
import { randomBytes } from 'node:crypto'
import { sanitize } from '../policy/refusal.ts'

const IDENTIFICATION = 'SSH-2.0-Gatehouse\r\n'
const MSG_DISCONNECT = 1
/** RFC 4253, 11.1: the client may not connect. */
const HOST_NOT_ALLOWED = 1
/** Of a packet before keys are exchanged (RFC 4253, 6). */
const BLOCK_BYTES = 8
const MIN_PADDING_BYTES = 4

/** What a server that refuses says: its identification, and a disconnect with `words` (RFC 4253, 4.2 and 11.1). */
export function sshRefusal(words: string): Buffer {
  const text = Buffer.from(sanitize(words))
  const payload = Buffer.alloc(1 + 4 + 4 + text.length + 4)
  payload.writeUInt8(MSG_DISCONNECT, 0)
  payload.writeUInt32BE(HOST_NOT_ALLOWED, 1)
  payload.writeUInt32BE(text.length, 5)
  text.copy(payload, 9)
  let padding = BLOCK_BYTES - ((5 + payload.length) % BLOCK_BYTES)
  if (padding < MIN_PADDING_BYTES) padding += BLOCK_BYTES
  const head = Buffer.alloc(5)
  head.writeUInt32BE(1 + payload.length + padding, 0)
  head.writeUInt8(padding, 4)
  return Buffer.concat([Buffer.from(IDENTIFICATION), head, payload, randomBytes(padding)])
}
