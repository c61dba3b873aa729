import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'

/** Hashed into every handshake. Longer than a hash, so the hash of it is where everything starts. */
const PROTOCOL_NAME = 'Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256'
export const TAG_BYTES = 16
const NO_DATA = Buffer.alloc(0)

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const hmac = (key: Uint8Array, ...parts: Uint8Array[]): Buffer => {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

/** The three outputs of Noise's HKDF. */
function derive(chainingKey: Buffer, input: Uint8Array): [Buffer, Buffer, Buffer] {
  const temporary = hmac(chainingKey, input)
  const first = hmac(temporary, Buffer.from([1]))
  const second = hmac(temporary, first, Buffer.from([2]))
  return [first, second, hmac(temporary, second, Buffer.from([3]))]
}

/** AES-256-GCM with a counter: each side of a connection has one for each direction. */
export class CipherState {
  private counter = 0n

  constructor(private readonly key: Buffer) {}

  encrypt(plaintext: Uint8Array, associated: Uint8Array = NO_DATA): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.key, this.nextNonce())
    cipher.setAAD(associated)
    return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  }

  /** @throws an Error when anything of it was changed, left out or sent twice */
  decrypt(ciphertext: Buffer, associated: Uint8Array = NO_DATA): Buffer {
    if (ciphertext.length < TAG_BYTES) throw new Error('a sealed record is shorter than its tag')
    const decipher = createDecipheriv('aes-256-gcm', this.key, this.nextNonce())
    decipher.setAAD(associated)
    decipher.setAuthTag(ciphertext.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(ciphertext.subarray(0, -TAG_BYTES)), decipher.final()])
  }

  /** Four zero bytes, then the counter, big-endian. */
  private nextNonce(): Buffer {
    const nonce = Buffer.alloc(12)
    nonce.writeBigUInt64BE(this.counter++, 4)
    return nonce
  }
}

/** What both sides of a handshake know so far. */
export class SymmetricState {
  private hash = sha256(Buffer.from(PROTOCOL_NAME))
  private chainingKey = this.hash
  private cipher: CipherState | undefined

  mixHash(data: Uint8Array): void {
    this.hash = sha256(this.hash, data)
  }

  mixKey(secret: Uint8Array): void {
    const [chainingKey, key] = derive(this.chainingKey, secret)
    this.chainingKey = chainingKey
    this.cipher = new CipherState(key)
  }

  mixKeyAndHash(secret: Uint8Array): void {
    const [chainingKey, hashed, key] = derive(this.chainingKey, secret)
    this.chainingKey = chainingKey
    this.mixHash(hashed)
    this.cipher = new CipherState(key)
  }

  /** In the clear until the first key is mixed in. */
  encryptAndHash(plaintext: Uint8Array): Buffer {
    const sealed = this.cipher ? this.cipher.encrypt(plaintext, this.hash) : Buffer.from(plaintext)
    this.mixHash(sealed)
    return sealed
  }

  decryptAndHash(sealed: Buffer): Buffer {
    const plaintext = this.cipher ? this.cipher.decrypt(sealed, this.hash) : sealed
    this.mixHash(sealed)
    return plaintext
  }

  /** Ciphers for what follows: from the initiator to the responder, and back. */
  split(): [CipherState, CipherState] {
    const [first, second] = derive(this.chainingKey, NO_DATA)
    return [new CipherState(first), new CipherState(second)]
  }
}
