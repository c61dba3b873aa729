import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { factsOf } from '../fixtures/agent.ts'
import { OriginServer } from '../fixtures/origin-server.ts'
import { test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Network } from '../pages/network.ts'

test('shots', async ({ home, launchApp, attachAgent }) => {
  mkdirSync(join(home.dataDir, 'rules'), { recursive: true, mode: 0o700 })
  writeFileSync(
    join(home.dataDir, 'settings.json'),
    JSON.stringify({ allowLocalBinding: true, unknownHost: 'block', theme: 'dark' }),
  )
  const origin = await OriginServer.listenSecurely('secure.localhost')
  const plain = await OriginServer.listen()
  writeFileSync(
    join(home.dataDir, 'rules', 'test.rules'),
    ['https', 'http']
      .map((p) => `network_rule(host="secure.localhost", protocol="${p}", decision="allow")\n`)
      .join('') + 'network_rule(host="web.localhost", protocol="http", decision="allow")\n',
  )
  const page = await (await launchApp({ SSL_CERT_FILE: origin.certificateFile })).page()
  await page.setViewportSize({ width: 1280, height: 820 }).catch(() => {})
  const network = new Network(page)
  const inbox = new Inbox(page)
  await network.open()
  await page.screenshot({ path: '/tmp/p1/empty-dark.png' })
  await page.getByRole('radio', { name: 'Opened and shown' }).click()
  const agent = await attachAgent()
  const s = `https://secure.localhost:${origin.port}`
  const script = `for i in 1 2 3; do curl -s ${s}/v1/items/$i?key=x -H 'Authorization: Bearer t' -H 'X-Trace: abc'; curl -s -d a=b ${s}/v1/items; curl -s http://web.localhost:${plain.port}/hello$i; curl -s https://registry.npmjs.org/left-pad; curl -s http://telemetry.example.com/ping; done; curl -s https://pypi.org/simple/; curl -s http://127.0.0.1:9/`
  await inbox.open()
  const answer = agent.run(`NO_PROXY= no_proxy= bash -c "${script}"`)
  await inbox.allow('curl')
  console.log(String(factsOf(await answer).exitCode))
  await network.open()
  await page.waitForTimeout(1500)
  await page.screenshot({ path: '/tmp/p1/list-dark.png' })
  await network.rows(`secure.localhost:${origin.port}`).first().click()
  await page.waitForTimeout(500)
  await page
    .locator('.exchange-list summary')
    .first()
    .click()
    .catch(() => {})
  await page.screenshot({ path: '/tmp/p1/detail-dark.png' })
  await page.getByRole('button', { name: 'Export' }).click()
  await page.screenshot({ path: '/tmp/p1/menu-dark.png' })
  await page.keyboard.press('Escape')
  await page.evaluate(() =>
    (window as unknown as { gatehouse: { invoke(c: string, ...a: unknown[]): Promise<unknown> } }).gatehouse.invoke(
      'settings.set',
      { theme: 'light' },
    ),
  )
  await page.waitForTimeout(500)
  await page.screenshot({ path: '/tmp/p1/detail-light.png' })
  await page.getByRole('radio', { name: 'Reading only' }).click()
  await page.getByRole('button', { name: 'Close the inspector' }).click()
  await page.waitForTimeout(500)
  await page.screenshot({ path: '/tmp/p1/list-light.png' })
  await origin.close()
  await plain.close()
})
