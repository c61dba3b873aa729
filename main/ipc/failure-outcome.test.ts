import { afterEach, expect, test, vi } from 'vitest'
import { DecodeError } from '../../sidecars/protocol/decode.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { failureOutcome } from './failure-outcome.ts'

afterEach(() => vi.restoreAllMocks())

test('a named failure keeps its code', () => {
  expect(failureOutcome(new RpcError('unavailable', 'exec server is restarting'), 'x')).toEqual({
    ok: false,
    code: 'unavailable',
    message: 'exec server is restarting',
  })
})

test('a bad argument names its place', () => {
  expect(failureOutcome(new DecodeError('arguments[0]', 'expected a string, got nothing'), 'x')).toEqual({
    ok: false,
    code: 'invalidParams',
    message: 'arguments[0]: expected a string, got nothing',
  })
})

test('an unforeseen failure is internal, without its stack, and goes to stderr', () => {
  const stderr = vi.spyOn(console, 'error').mockImplementation(() => {})
  const failure = failureOutcome(new TypeError('x is not a function'), 'rules.add')
  expect(failure).toEqual({ ok: false, code: 'internal', message: 'x is not a function' })
  expect(stderr).toHaveBeenCalledOnce()
})
