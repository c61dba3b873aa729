/** The window's copy of the host's keyed collections. */
import type { FeedTables } from '../../preload/api.ts'

/**
 * A version of one collection. `rows` is shared between versions and written only by
 * `apply-deltas.ts`: copying a table of 100,000 connections on every frame would cost most of the
 * frame. Whoever derives something from a table must therefore compare the `Table` object (new with
 * each change), never `rows`.
 */
export interface Table<V> {
  readonly rows: ReadonlyMap<string, V>
}
export type TableName = keyof FeedTables
export type Tables = { readonly [T in TableName]: Table<FeedTables[T]> }

export const TABLE_NAMES = [
  'sessions',
  'approvals',
  'processes',
  'connections',
  'rules',
  'ruleProblems',
  'sidecars',
  'notices',
] as const satisfies readonly TableName[]

export function emptyTables(): Tables {
  const table = <V>(): Table<V> => ({ rows: new Map() })
  return {
    sessions: table(),
    approvals: table(),
    processes: table(),
    connections: table(),
    rules: table(),
    ruleProblems: table(),
    sidecars: table(),
    notices: table(),
  }
}

/**
 * Keeps the last result of `derive` for as long as its inputs are the same objects, so that a
 * selector returns a stable value between changes.
 */
export function memoizeLast<A extends readonly unknown[], R>(derive: (...inputs: A) => R): (...inputs: A) => R {
  let last: { inputs: A; result: R } | undefined
  return (...inputs) => {
    if (last && last.inputs.length === inputs.length && last.inputs.every((input, i) => Object.is(input, inputs[i])))
      return last.result
    last = { inputs, result: derive(...inputs) }
    return last.result
  }
}
