import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { factsOf, type Agent } from '../fixtures/agent.ts'
import type { Home } from '../fixtures/app-under-test.ts'
import { OriginServer } from '../fixtures/origin-server.ts'
import { expect, test } from '../fixtures/test.ts'
import { Inbox } from '../pages/inbox.ts'
import { Network } from '../pages/network.ts'

/** Names below localhost lead here without DNS; with local binding they are asked about like any other name. */
function openLocalNames(home: Home): void {
  mkdirSync(home.dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(join(home.dataDir, 'settings.json'), JSON.stringify({ allowLocalBinding: true }))
}
/** Otherwise local binding would let tools go around the proxy to local names. */
const THROUGH_PROXY = 'NO_PROXY= no_proxy= npm_config_noproxy= NPM_CONFIG_NOPROXY='

const TOOLS = [
  {
    tool: 'git clone',
    line: (base: string) => `rm -rf copy; git clone -q ${base}/repo.git copy && cat copy/greeting`,
    shows: 'hello from the repository',
    first: '/repo.git/info/refs?service=git-upload-pack',
  },
  {
    tool: 'npm view',
    line: (base: string) => `npm view demo version --registry=${base}/ --fetch-retries=0 --cache=$PWD/npm-cache`,
    shows: '1.2.3',
    first: '/demo',
  },
]

for (const { tool, line, shows, first } of TOOLS)
  test(`${tool} of an unknown host waits on its own connection for the answer, and says why when it is no`, async ({
    home,
    launchApp,
    attachAgent,
  }) => {
    openLocalNames(home)
    const page = await (await launchApp()).page()
    const origin = await OriginServer.listen()
    const agent = await attachAgent()
    const inbox = new Inbox(page)
    const network = new Network(page)
    const run = async (runner: Agent, host: string) => {
      const answer = runner.run(`${THROUGH_PROXY} sh -c '${line(`http://${host}:${origin.port}`)}'`)
      await inbox.allow(tool)
      return answer
    }

    await inbox.open()
    const allowed = run(agent, 'tools.localhost')
    const card = inbox.card(`tools.localhost:${origin.port}`)
    await expect(card).toContainText('wants to reach')
    expect(origin.requests).toEqual([])
    await network.open()
    // npm opens several at once; they are one card.
    await expect(network.rows(`tools.localhost:${origin.port}`).first()).toContainText('waits for you')
    await inbox.open()
    await inbox.allowForSession(`tools.localhost:${origin.port}`)
    expect(factsOf(await allowed)).toMatchObject({ exitCode: 0, output: expect.stringContaining(shows) as unknown })
    // The held connection went on: nothing was tried again, and what followed was not asked about.
    expect(origin.requests.filter(({ path }) => path === first)).toHaveLength(1)
    await network.open()
    for (const row of await network.rows(`tools.localhost:${origin.port}`).all())
      await expect(row).toContainText('allowed')

    await inbox.open()
    const denied = run(agent, 'denied.localhost')
    await expect(inbox.card(`denied.localhost:${origin.port}`)).toContainText('wants to reach')
    await inbox.deny(`denied.localhost:${origin.port}`, 'use the mirror')
    const { exitCode, output } = factsOf(await denied)
    expect(exitCode).not.toBe(0)
    expect(output).toContain('use the mirror')
    expect(output).toContain('This block is deliberate')
    expect(origin.requests.filter(({ host }) => host?.startsWith('denied.'))).toEqual([])
    await origin.close()
  })

test('the switches of the Network page hold for the next command, and HTTPS that is opened shows what is inside', async ({
  home,
  launchApp,
  attachAgent,
}) => {
  openLocalNames(home)
  const origin = await OriginServer.listenSecurely('secure.localhost')
  mkdirSync(join(home.dataDir, 'rules'))
  writeFileSync(
    join(home.dataDir, 'rules', 'test.rules'),
    'network_rule(host="secure.localhost", protocol="https", decision="allow")\n',
  )
  const page = await (await launchApp({ SSL_CERT_FILE: origin.certificateFile })).page()
  const agent = await attachAgent()
  const inbox = new Inbox(page)
  const network = new Network(page)
  const curl = async (more: string) => {
    await inbox.open()
    const answer = agent.run(
      `${THROUGH_PROXY} curl -sSv ${more} --max-time 20 https://secure.localhost:${origin.port}/hello?key=1`,
    )
    await inbox.allow('curl')
    return factsOf(await answer).output as string
  }

  const closed = await curl(`--cacert ${origin.certificateFile}`)
  expect(closed).toContain('hello from the origin')
  expect(closed).toMatch(/issuer: .*secure\.localhost/)

  await network.open()
  await page.getByRole('radio', { name: 'Opened and shown' }).click()
  await expect(page.getByText(/The proxy opens HTTPS here on this machine/)).toBeVisible()
  const opened = await curl('')
  expect(opened).toContain('hello from the origin')
  expect(opened).toMatch(/issuer: .*Gatehouse/)
  await network.open()
  // The newest is the first; the one from before the switch is the other.
  await expect(network.rows(`secure.localhost:${origin.port}`)).toHaveCount(2)
  await network.rows(`secure.localhost:${origin.port}`).first().click()
  await expect(page.getByRole('region', { name: 'Requests inside' }).getByRole('listitem')).toContainText('GET/hello?…')

  await page.getByRole('radio', { name: 'Reading only' }).click()
  await expect(page.getByRole('radio', { name: 'Opened and shown' })).toBeDisabled()
  expect(await curl('-d x=1')).toContain('limited mode, which allows only GET, HEAD and OPTIONS')
  expect(origin.requests.map(({ path }) => path)).toEqual(['/hello?key=1', '/hello?key=1'])
  await origin.close()
})
