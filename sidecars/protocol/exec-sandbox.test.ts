import { describe, expect, it } from 'vitest'
import { decode } from './decode.ts'
import { sandboxObject } from './exec-sandbox.ts'

describe('the sandbox of a call', () => {
  const permitted = (permissions: unknown) => () =>
    decode(sandboxObject, { permissions, windowsSandboxLevel: 'disabled' })

  it.each([[{ type: 'external' }], [{ type: 'managed', file_system: { type: 'unrestricted' } }]])(
    'with %j says what the network is',
    (permissions) => {
      expect(permitted({ ...permissions, network: 'enabled' })().permissions).toMatchObject({ network: 'enabled' })
      expect(permitted(permissions)).toThrow(/permissions\.network/)
    },
  )
  it('that is none needs to say nothing', () => {
    expect(permitted({ type: 'disabled' })().permissions).toEqual({ type: 'disabled' })
  })
})
