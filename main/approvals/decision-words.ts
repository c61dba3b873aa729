import type { Decision } from '../../sidecars/protocol/decision.ts'

/** "It was already allowed once by you in the window at 10:22:03." */
export function alreadyDecided({ verdict, scope, actor, decidedAtMs }: Decision): string {
  const range = { once: 'once', session: 'for the session', always: 'always' }[scope]
  const who =
    actor.kind === 'person'
      ? `by you ${actor.via === 'window' ? 'in the window' : 'on the command line'}`
      : actor.kind === 'rule'
        ? 'by a rule'
        : 'by the default policy'
  const time = new Date(decidedAtMs).toTimeString().slice(0, 8)
  return `It was already ${verdict === 'allow' ? 'allowed' : 'denied'} ${range} ${who} at ${time}.`
}
