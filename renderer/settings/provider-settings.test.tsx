import { fireEvent, screen } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { cleanup, renderWithHost, settle } from '../testing/render-with-host.tsx'
import { ScriptedHost } from '../testing/scripted-host.ts'
import { snapshot } from '../testing/view-fixtures.ts'
import { ProviderSettings } from './provider-settings.tsx'

afterEach(cleanup)

test('a key that is typed goes to the keychain, and never into the configuration', async () => {
  let keychain: { ok: true; value: object } | { ok: false; code: 'internal'; message: string } = {
    ok: false,
    code: 'internal',
    message: 'the keychain is reached with secret-tool, which is missing',
  }
  const host = new ScriptedHost(snapshot(), {
    'threads.call': (method) =>
      Promise.resolve(
        method === 'gatehouse/provider/check'
          ? { ok: true, value: { models: ['small'] } }
          : method === 'gatehouse/provider/key/set'
            ? keychain
            : { ok: true, value: { config: {}, data: [] } },
      ),
  })
  await renderWithHost(host, <ProviderSettings />)
  fireEvent.click(screen.getByText('Add a provider'))
  const type = (label: RegExp, value: string) => fireEvent.change(screen.getByLabelText(label), { target: { value } })
  type(/^Name/, 'mine')
  type(/^Base URL/, 'https://models.example/v1')
  type(/the key itself/, 'sk-1')
  fireEvent.click(screen.getByText('Test connection'))
  await settle()
  const sent = () =>
    host.callsOf('threads.call').filter(([method]) => method !== 'config/read' && method !== 'modelProvider/list')
  expect(sent()).toEqual([['gatehouse/provider/check', { baseUrl: 'https://models.example/v1', key: 'sk-1' }]])
  fireEvent.click(screen.getByText('Add and use'))
  await settle()
  expect(screen.getByText(/secret-tool, which is missing/)).toBeTruthy()
  expect(sent().map(([method]) => method)).not.toContain('config/batchWrite')
  keychain = { ok: true, value: {} }
  fireEvent.click(screen.getByText('Add and use'))
  await settle()
  const [, write] = sent().at(-1)!
  expect(JSON.stringify(write)).toContain('"keychain":true')
  expect(JSON.stringify(write)).not.toContain('sk-1')
})
