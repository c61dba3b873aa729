/** An operation that does not fit the state of its thread; the wire layer words it. */
import type { TurnKind } from './active-turn.ts'

export type TurnRefusal =
  | 'noActiveTurn'
  | 'notIdle'
  | 'wrongTurn'
  | 'notSteerable'
  | 'emptyInput'
  | 'mailboxFull'
  | 'shutDown'

export class TurnRefused extends Error {
  override readonly name = 'TurnRefused'
  constructor(
    readonly why: TurnRefusal,
    readonly activeTurnId: string | null = null,
    readonly turnKind: TurnKind | null = null,
  ) {
    super(why)
  }
}
