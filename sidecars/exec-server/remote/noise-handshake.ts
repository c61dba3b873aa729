import {
  encapsulate,
  HybridKeys,
  MLKEM_CIPHERTEXT_BYTES,
  MLKEM_PUBLIC_BYTES,
  X25519_BYTES,
  type PublicKeys,
} from './noise-keys.ts'
import { SymmetricState, TAG_BYTES, type CipherState } from './noise-state.ts'

/** Ciphers of one side of a finished handshake. */
export interface SecureChannel {
  sending: CipherState
  receiving: CipherState
}

/** What a handshake is about; both sides have to mean the same. */
export interface HandshakeScope {
  environmentId: string
  registrationId: string
  streamId: string
}

/** Mixed in first, each part behind its length in eight bytes. */
function prologue({ environmentId, registrationId, streamId }: HandshakeScope): Buffer {
  const parts = ['codex-exec-server-relay-noise/v1', environmentId, registrationId, streamId].flatMap((text) => {
    const bytes = Buffer.from(text)
    const length = Buffer.alloc(8)
    length.writeBigUInt64BE(BigInt(bytes.length))
    return [length, bytes]
  })
  return Buffer.concat(parts)
}

function begin(scope: HandshakeScope, responder: PublicKeys): SymmetricState {
  const state = new SymmetricState()
  state.mixHash(prologue(scope))
  state.mixHash(responder.x25519)
  state.mixHash(responder.mlKem)
  return state
}

/** Takes a message apart, piece by piece. */
class Pieces {
  private at = 0
  constructor(private readonly message: Buffer) {}

  take(sizeBytes: number): Buffer {
    if (this.at + sizeBytes > this.message.length) throw new Error('the handshake message is too short')
    this.at += sizeBytes
    return this.message.subarray(this.at - sizeBytes, this.at)
  }
  rest(): Buffer {
    return this.take(this.message.length - this.at)
  }
  publicKeys(): PublicKeys {
    return { x25519: this.take(X25519_BYTES), mlKem: this.take(MLKEM_PUBLIC_BYTES) }
  }
}

/**
 * The side that connects. Message 1 carries `skem, e, es, s, ss` and a payload, message 2 `ekem, skem, e, ee, se`
 * and an empty one.
 */
export class Initiator {
  private readonly state: SymmetricState
  private readonly ephemeral = HybridKeys.generate()

  constructor(
    private readonly own: HybridKeys,
    private readonly responder: PublicKeys,
    scope: HandshakeScope,
  ) {
    this.state = begin(scope, responder)
  }

  /** @throws an Error when the responder's keys are none */
  firstMessage(payload: Uint8Array): Buffer {
    const { state, ephemeral, own, responder } = this
    const { ciphertext, secret } = encapsulate(responder)
    const parts = [state.encryptAndHash(ciphertext)]
    state.mixKeyAndHash(secret)
    for (const key of [ephemeral.public.x25519, ephemeral.public.mlKem]) {
      state.mixHash(key)
      parts.push(key)
    }
    state.mixKey(ephemeral.agree(responder))
    parts.push(state.encryptAndHash(own.public.x25519), state.encryptAndHash(own.public.mlKem))
    state.mixKey(own.agree(responder))
    return Buffer.concat([...parts, state.encryptAndHash(payload)])
  }

  /** @throws an Error when the answer is not the responder's, or carries words: those mean a refusal */
  finish(message: Buffer): SecureChannel {
    const { state, ephemeral, own } = this
    const pieces = new Pieces(message)
    const toEphemeral = pieces.take(MLKEM_CIPHERTEXT_BYTES)
    state.mixHash(toEphemeral)
    state.mixKey(ephemeral.decapsulate(toEphemeral))
    state.mixKeyAndHash(own.decapsulate(state.decryptAndHash(pieces.take(MLKEM_CIPHERTEXT_BYTES + TAG_BYTES))))
    const theirs = pieces.publicKeys()
    state.mixHash(theirs.x25519)
    state.mixHash(theirs.mlKem)
    state.mixKey(ephemeral.agree(theirs))
    state.mixKey(own.agree(theirs))
    const payload = state.decryptAndHash(pieces.rest())
    if (payload.length > 0) throw new Error(`the executor refused: ${payload.toString('utf8').slice(0, 200)}`)
    const [sending, receiving] = state.split()
    return { sending, receiving }
  }
}

/** The side that is connected to. */
export class Responder {
  private readonly state: SymmetricState
  private initiator: { ephemeral: PublicKeys; own: PublicKeys } | undefined

  constructor(
    private readonly own: HybridKeys,
    scope: HandshakeScope,
  ) {
    this.state = begin(scope, own.public)
  }

  /** Who connects, and their payload. @throws an Error when the message was not made for us */
  read(message: Buffer): { keys: PublicKeys; payload: Buffer } {
    const { state, own } = this
    const pieces = new Pieces(message)
    state.mixKeyAndHash(own.decapsulate(state.decryptAndHash(pieces.take(MLKEM_CIPHERTEXT_BYTES))))
    const ephemeral = pieces.publicKeys()
    state.mixHash(ephemeral.x25519)
    state.mixHash(ephemeral.mlKem)
    state.mixKey(own.agree(ephemeral))
    const keys = {
      x25519: state.decryptAndHash(pieces.take(X25519_BYTES + TAG_BYTES)),
      mlKem: state.decryptAndHash(pieces.take(MLKEM_PUBLIC_BYTES + TAG_BYTES)),
    }
    state.mixKey(own.agree(keys))
    const payload = state.decryptAndHash(pieces.rest())
    this.initiator = { ephemeral, own: keys }
    return { keys, payload }
  }

  /** The answer, and what comes after it. `payload` that is not empty says why there is nothing. */
  answer(payload: Uint8Array = Buffer.alloc(0)): { message: Buffer; channel: SecureChannel } {
    const { state, initiator } = this
    if (!initiator) throw new Error('there is nothing to answer yet')
    const ephemeral = HybridKeys.generate()
    const toEphemeral = encapsulate(initiator.ephemeral)
    state.mixHash(toEphemeral.ciphertext)
    state.mixKey(toEphemeral.secret)
    const toOwn = encapsulate(initiator.own)
    const parts = [toEphemeral.ciphertext, state.encryptAndHash(toOwn.ciphertext)]
    state.mixKeyAndHash(toOwn.secret)
    for (const key of [ephemeral.public.x25519, ephemeral.public.mlKem]) {
      state.mixHash(key)
      parts.push(key)
    }
    state.mixKey(ephemeral.agree(initiator.ephemeral))
    state.mixKey(ephemeral.agree(initiator.own))
    const message = Buffer.concat([...parts, state.encryptAndHash(payload)])
    const [receiving, sending] = state.split()
    return { message, channel: { sending, receiving } }
  }
}
