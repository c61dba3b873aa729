import { afterAll, beforeAll, expect, test } from 'vitest'
import { ScriptedModel } from '../../testing/scripted-model.ts'
import { listModels } from './list-models.ts'
import { SystemSecrets } from './provider-secrets.ts'

const variables = (env: Record<string, string>) => new SystemSecrets((name) => env[name])

let model: ScriptedModel
beforeAll(async () => {
  model = await ScriptedModel.start({})
})
afterAll(() => model.close())

test('a model server says what it has', async () => {
  expect(await listModels({ baseUrl: `${model.baseUrl}/` }, variables({}))).toEqual([
    'scripted-model',
    'scripted-small',
  ])
  expect(await listModels({ baseUrl: model.baseUrl, envKey: 'KEY' }, variables({ KEY: 'right' }))).toHaveLength(2)
})

test.each([
  [
    'nobody listens there',
    () => ({ baseUrl: 'http://127.0.0.1:1/v1' }),
    'http://127.0.0.1:1/v1/models cannot be reached',
  ],
  ['it is no address', () => ({ baseUrl: 'localhost' }), 'expected an http or https address'],
  ['the key is wrong', () => ({ baseUrl: model.baseUrl, envKey: 'KEY' }), 'the key is missing or not accepted'],
  ['the variable is not set', () => ({ baseUrl: model.baseUrl, envKey: 'NONE' }), 'NONE'],
])('%s: the sentence says so', async (_case, question, words) => {
  await expect(listModels(question(), variables({ KEY: 'wrong' }))).rejects.toThrow(words)
})
