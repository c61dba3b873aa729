import { createPublicKey, diffieHellman, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { ml_kem768 as mlKem } from '@noble/post-quantum/ml-kem.js'
import { DecodeError, literal, object, string, type Decoder } from '../../protocol/decode.ts'

/** How the wire names the keys; the name inside of the handshake is another one. */
const SUITE = 'Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256'

export const X25519_BYTES = 32
export const MLKEM_PUBLIC_BYTES = 1184
export const MLKEM_CIPHERTEXT_BYTES = 1088
const MLKEM_SEED_BYTES = 64
const MLKEM_RANDOM_BYTES = 32
/** DER of an X25519 public key up to its 32 bytes. */
const X25519_SPKI_PREFIX = Buffer.from('302a300506032b656e032100', 'hex')

/** Both public keys of one side: the classical and the post-quantum one. */
export interface PublicKeys {
  x25519: Buffer
  mlKem: Buffer
}

/** Both key pairs of one side. */
export class HybridKeys {
  readonly public: PublicKeys

  private constructor(
    private readonly x25519Private: KeyObject,
    x25519Public: Buffer,
    private readonly mlKemSecret: Uint8Array,
    mlKemPublic: Uint8Array,
  ) {
    this.public = { x25519: x25519Public, mlKem: Buffer.from(mlKemPublic) }
  }

  static generate(): HybridKeys {
    const { privateKey, publicKey } = generateKeyPairSync('x25519')
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(X25519_SPKI_PREFIX.length)
    const kem = mlKem.keygen(randomBytes(MLKEM_SEED_BYTES))
    return new HybridKeys(privateKey, Buffer.from(raw), kem.secretKey, kem.publicKey)
  }

  /** The secret shared with the owner of `theirs`. @throws an Error for a point that shares nothing */
  agree(theirs: PublicKeys): Buffer {
    const der = Buffer.concat([X25519_SPKI_PREFIX, theirs.x25519])
    const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' })
    return diffieHellman({ privateKey: this.x25519Private, publicKey })
  }

  /** The secret that somebody has encapsulated for us. */
  decapsulate(ciphertext: Buffer): Buffer {
    return Buffer.from(mlKem.decapsulate(ciphertext, this.mlKemSecret))
  }
}

/** A secret for the owner of `theirs`, and what tells it to them. @throws an Error for keys that are none */
export function encapsulate(theirs: PublicKeys): { ciphertext: Buffer; secret: Buffer } {
  // With randomness of our own: the library would look for a global that old runtimes lack.
  const { cipherText, sharedSecret } = mlKem.encapsulate(theirs.mlKem, randomBytes(MLKEM_RANDOM_BYTES))
  return { ciphertext: Buffer.from(cipherText), secret: Buffer.from(sharedSecret) }
}

/** Public keys as the registry has them. */
export function formatPublicKeys({ x25519, mlKem: kem }: PublicKeys) {
  return {
    suite: SUITE,
    x25519_public_key: x25519.toString('base64'),
    mlkem768_public_key: kem.toString('base64'),
  }
}

const bytes =
  (sizeBytes: number): Decoder<Buffer> =>
  (value, path) => {
    const decoded = Buffer.from(string(value, path), 'base64')
    if (decoded.length !== sizeBytes) throw new DecodeError(path, `expected ${sizeBytes} bytes, got ${decoded.length}`)
    return decoded
  }
const fields = object({
  suite: literal(SUITE),
  x25519_public_key: bytes(X25519_BYTES),
  mlkem768_public_key: bytes(MLKEM_PUBLIC_BYTES),
})
/** Keys of the registry; a member more or less means that they are of another making. */
export const publicKeys: Decoder<PublicKeys> = (value, path) => {
  const keys = fields(value, path)
  if (Object.keys(value as object).length !== 3) throw new DecodeError(path, 'it has members that no keys have')
  return { x25519: keys.x25519_public_key, mlKem: keys.mlkem768_public_key }
}
