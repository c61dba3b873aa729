import { factsOf } from '../fixtures/agent.ts'
import { OriginServer } from '../fixtures/origin-server.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Network } from '../pages/network.ts'
import { StatusBar } from '../pages/status-bar.ts'

test('a blocked host is named with process and session, one act allows it for the session, others stay blocked', async ({
  page,
  attachAgent,
}) => {
  const origin = await OriginServer.listen()
  const agent = await attachAgent({ name: 'codex' })
  const inbox = new Inbox(page)
  const network = new Network(page)
  const curl = async (host: string) => {
    await inbox.open()
    const answer = agent.run(`curl -sS --max-time 20 http://${host}:${origin.port}/hello`)
    await inbox.allow('curl')
    return factsOf(await answer)
  }

  expect((await curl('127.0.0.1')).output).not.toContain('hello from the origin')
  expect(origin.requests).toEqual([])
  await network.open()
  const row = network.rows(`127.0.0.1:${origin.port}`).first()
  await expect(row).toContainText(/blocked/i)
  // Process, then session: one without a title is named after its first request.
  await expect(row.getByRole('gridcell').nth(4)).toContainText('curl')
  await expect(row.getByRole('gridcell').nth(5)).toContainText('curl')
  await row.getByRole('button', { name: 'Allow for this session' }).click()
  await expect(row).toContainText('allowed now')

  expect(await curl('127.0.0.1')).toMatchObject({ exitCode: 0, output: 'hello from the origin\n' })
  expect(origin.requests).toHaveLength(1)

  expect((await curl('localhost')).output).not.toContain('hello from the origin')
  expect(origin.requests).toHaveLength(1)
  await network.open()
  await expect(network.rows(`localhost:${origin.port}`).first()).toContainText(/blocked/i)
  await origin.close()
})

test('an unknown host is held for the owner, and a denial reaches the command as a readable refusal', async ({
  page,
  attachAgent,
}) => {
  const agent = await attachAgent()
  const inbox = new Inbox(page)
  const answer = agent.run('curl -sS -i --max-time 60 http://registry.example.test/package')
  await inbox.allow('curl')
  await expect(inbox.card('registry.example.test')).toContainText('wants to reach')
  await inbox.deny('registry.example.test', 'use the mirror')
  const { output } = factsOf(await answer)
  expect(output).toMatch(/403/)
  expect(output).toMatch(/x-proxy-error/i)
  expect(output).toContain('registry.example.test')
})

test('a connection held when the proxy is killed is withdrawn from the Inbox, and the next one is asked again', async ({
  page,
  attachAgent,
}) => {
  const status = new StatusBar(page)
  await status.waitForHealth()
  const agent = await attachAgent()
  const inbox = new Inbox(page)
  const answer = agent.run('curl -sS --max-time 60 http://held.example.test/')
  await inbox.allow('curl')
  await expect(inbox.card('held.example.test')).toBeVisible()
  process.kill(await status.pidOf('network proxy'), 'SIGKILL')
  await expect(inbox.card('held.example.test')).toBeHidden()
  await expect(inbox.ended('held.example.test:80')).toContainText('Withdrawn')
  expect(factsOf(await answer).exitCode).not.toBe(0)
  await status.waitForHealth()

  const again = agent.run('curl -sS --max-time 60 http://held.example.test/')
  await inbox.allow('curl')
  await inbox.deny('held.example.test', 'no')
  await again
})
