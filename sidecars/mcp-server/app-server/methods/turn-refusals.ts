/** Operations that do not fit the state of their thread, in the words of the protocol. */
import { TurnRefused } from '../../engine/turn-refused.ts'
import { invalidRequest, WireError } from '../wire-error.ts'

/** What a client reads when the operation does not fit the state of the thread. */
export async function refusals<T>(work: Promise<T>, expected: { steer?: string; interrupt?: string } = {}): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof TurnRefused ? wording(error, expected) : error
  }
}

function wording(refusal: TurnRefused, expected: { steer?: string; interrupt?: string }): WireError {
  switch (refusal.why) {
    case 'noActiveTurn':
      return invalidRequest(
        expected.interrupt === undefined ? 'no active turn to steer' : 'no active turn to interrupt',
      )
    case 'wrongTurn':
      return invalidRequest(
        expected.interrupt === undefined
          ? `expected active turn id \`${expected.steer}\` but found \`${refusal.activeTurnId}\``
          : `expected active turn id ${expected.interrupt} but found ${refusal.activeTurnId}`,
      )
    case 'notSteerable':
      return new WireError(-32600, `the active ${refusal.turnKind} turn cannot be steered`, {
        codexErrorInfo: { activeTurnNotSteerable: { turnKind: refusal.turnKind } },
      })
    case 'emptyInput':
      return invalidRequest('input must not be empty')
    case 'notIdle':
      return invalidRequest(`the thread is working on turn ${refusal.activeTurnId}; wait for it or interrupt it first`)
    case 'mailboxFull':
      return invalidRequest('the thread has not read its earlier messages yet; send this one later')
    case 'shutDown':
      return invalidRequest('the thread is shut down')
  }
}
