import { expect, test } from 'vitest'
import { attachAgent } from '../../testing/attached-agent.ts'
import { textOf } from '../../testing/mcp-line-client.ts'
import { decided } from '../../testing/recording-host.ts'

const QUESTION = {
  tool_name: 'Bash',
  input: { command: 'rm -rf build', nested: { a: [1, null] } },
  tool_use_id: 'toolu_7',
}

test('an allowed use is answered with exactly the input that was shown', async () => {
  const agent = await attachAgent('modern')
  agent.host.answer = () => Promise.resolve(decided('allow'))
  const result = await agent.call('request_permission', QUESTION)
  expect(JSON.parse(textOf(result))).toEqual({ behavior: 'allow', updatedInput: QUESTION.input })
  expect(agent.host.questions).toEqual([
    { sessionId: agent.host.sessions[0]?.id, toolCallId: 'toolu_7', toolName: 'Bash', input: QUESTION.input },
  ])
  await agent.dispose()
})

test('a denied use is answered with the words of the owner', async () => {
  const agent = await attachAgent('legacy')
  agent.host.answer = () => Promise.resolve(decided('deny', 'keep the build folder'))
  expect(JSON.parse(textOf(await agent.call('request_permission', QUESTION)))).toEqual({
    behavior: 'deny',
    message: 'keep the build folder',
  })
  await agent.dispose()
})

test('whatever goes wrong on the way is a deny in the same form', async () => {
  const agent = await attachAgent('legacy')
  agent.host.answer = () => Promise.reject(new Error('the host went away'))
  const result = await agent.call('request_permission', QUESTION)
  expect(result.isError).not.toBe(true)
  expect(JSON.parse(textOf(result))).toEqual({
    behavior: 'deny',
    message: 'Gatehouse could not decide: the host went away',
  })
  await agent.dispose()
})

test('a question whose asker gave up is withdrawn', async () => {
  const agent = await attachAgent('legacy')
  let withdrawn = false
  agent.host.answer = (_, signal) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => {
        withdrawn = true
        reject(new Error('withdrawn'))
      }),
    )
  const controller = new AbortController()
  const call = agent.client.callTool({ name: 'request_permission', arguments: QUESTION }, { signal: controller.signal })
  await expect.poll(() => agent.host.questions.length).toBe(1)
  controller.abort(new Error('escape'))
  await expect(call).rejects.toThrow()
  await expect.poll(() => withdrawn).toBe(true)
  await agent.dispose()
})
