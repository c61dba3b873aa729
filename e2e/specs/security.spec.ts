import { connect } from 'node:net'
import { join } from 'node:path'
import { ROOT } from '../fixtures/app-under-test.ts'
import { expect, test } from '../fixtures/test.ts'
import { StatusBar } from '../pages/status-bar.ts'

test('the page has no Node and only the bridge', async ({ app, page }) => {
  await new StatusBar(page).waitForHealth()
  const found = await page.evaluate(() => ({
    node: ['require', 'process', 'module', 'Buffer', 'global'].filter((name) => name in globalThis),
    bridge: Object.keys(window.gatehouse),
    frozen: Object.isFrozen(window.gatehouse),
  }))
  expect(found).toEqual({ node: [], bridge: ['invoke', 'on'], frozen: true })
  const preferences = await app.electron.evaluate(({ BrowserWindow }) => {
    const contents = BrowserWindow.getAllWindows()[0]?.webContents as unknown as {
      getLastWebPreferences(): Record<string, unknown>
    }
    return contents.getLastWebPreferences()
  })
  expect(preferences).toMatchObject({
    contextIsolation: true,
    sandbox: true,
    nodeIntegration: false,
    nodeIntegrationInSubFrames: false,
    webviewTag: false,
    webSecurity: true,
  })
})

test('the content policy stands in the header, and what violates it does not happen', async ({ page }) => {
  await new StatusBar(page).waitForHealth()
  const result = await page.evaluate(async () => {
    const violated: string[] = []
    document.addEventListener('securitypolicyviolation', (event) => violated.push(event.effectiveDirective))
    const header = (await fetch(location.href)).headers.get('content-security-policy')
    const script = document.createElement('script')
    try {
      script.textContent = 'window.injected = true'
    } catch {
      // Trusted Types refuse the text before the policy refuses the script.
    }
    document.body.append(script)
    const image = new Image()
    image.src = 'https://example.invalid/x.png'
    const frame = document.createElement('iframe')
    frame.src = 'https://example.invalid/'
    document.body.append(image, frame)
    const foreign = await fetch('https://example.invalid/').then(
      () => 'reached',
      () => 'refused',
    )
    const file = await fetch('file:///etc/passwd').then(
      () => 'reached',
      () => 'refused',
    )
    let evaluated: string
    try {
      // oxlint-disable-next-line no-eval -- the policy has to refuse exactly this
      evaluated = String((0, eval)('1 + 1'))
    } catch (error) {
      evaluated = (error as Error).name
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
    return { violated, header, foreign, file, evaluated, injected: 'injected' in window }
  })
  expect(result).toMatchObject({ foreign: 'refused', file: 'refused', evaluated: 'EvalError', injected: false })
  expect(result.header).toContain("default-src 'none'")
  expect(result.header).not.toContain('unsafe')
  expect(result.violated).toEqual(expect.arrayContaining(['img-src', 'connect-src']))
})

test('nothing outside the page is served, in any spelling', async ({ page }) => {
  await new StatusBar(page).waitForHealth()
  const statuses = await page.evaluate(async () => {
    const addresses = [
      'app://gatehouse/../preload/index.cjs',
      'app://gatehouse/..%2fpreload%2findex.cjs',
      'app://gatehouse/..%5cmain%5cindex.cjs',
      'app://gatehouse/index.cjs',
      'app://other/index.html',
    ]
    return Promise.all(
      addresses.map((address) =>
        fetch(address).then(
          (r) => r.status,
          () => 0,
        ),
      ),
    )
  })
  for (const status of statuses) expect(status).not.toBe(200)
})

test('the page stays where it is: no other address, no window, no permission', async ({ app, page }) => {
  await new StatusBar(page).waitForHealth()
  const before = page.url()
  const result = await page.evaluate(async () => {
    const opened = window.open('https://example.invalid/')
    const notification = await Notification.requestPermission()
    const location = await new Promise<unknown>((resolve) =>
      navigator.geolocation.getCurrentPosition(resolve, (error) => resolve(error.code)),
    )
    const clipboard = await navigator.clipboard.readText().then(
      () => 'read',
      () => 'refused',
    )
    return { opened, notification, location, clipboard }
  })
  expect(result).toEqual({ opened: null, notification: 'denied', location: 1, clipboard: 'refused' })
  await page.evaluate(() => {
    location.href = 'https://example.invalid/elsewhere'
  })
  await page.evaluate(() => {
    const link = document.createElement('a')
    link.href = 'file:///etc/passwd'
    document.body.append(link)
    link.click()
  })
  expect(page.url()).toBe(before)
  expect(await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1)
  // Each refusal is in the journal, for the owner to read.
  await expect
    .poll(async () => {
      const outcome = await page.evaluate(() => window.gatehouse.invoke('audit.page', null, 100))
      return outcome.ok ? outcome.value.entries.map((entry) => entry.summary).join('\n') : outcome.message
    })
    .toMatch(/elsewhere/)
})

test('a foreign frame with the same preload is refused on every channel', async ({ app, page }) => {
  await new StatusBar(page).waitForHealth()
  const refused = { ok: false, code: 'forbidden' }
  const answers = await app.electron.evaluate(
    async ({ BrowserWindow }, preload) => {
      const stranger = new BrowserWindow({
        show: false,
        webPreferences: { preload, partition: 'stranger', contextIsolation: true, sandbox: true },
      })
      await stranger.loadURL('data:text/html,<title>stranger</title>')
      const code = `Promise.all([
      gatehouse.invoke('feed.snapshot'),
      gatehouse.invoke('approvals.decide', { requestId: 'r', subjectHash: 'h', verdict: 'allow', scope: 'once' }),
      gatehouse.invoke('clipboard.write', 'x'),
    ])`
      const answers = (await stranger.webContents.executeJavaScript(code)) as { ok: boolean; code?: string }[]
      stranger.destroy()
      return answers
    },
    join(ROOT, 'out/preload/index.cjs'),
  )
  expect(answers.map(({ ok, code }) => ({ ok, code }))).toEqual([refused, refused, refused])
})

test('bad arguments and unknown channels are refused with the place named', async ({ page }) => {
  await new StatusBar(page).waitForHealth()
  const answers = await page.evaluate(async () => {
    const invoke = window.gatehouse.invoke as unknown as (channel: string, ...args: unknown[]) => Promise<unknown>
    return [
      await invoke('approvals.decide', { requestId: 5 }),
      await invoke('host.stop'),
      await invoke('processes.write', 'p'),
    ]
  })
  expect(answers).toMatchObject([
    { ok: false, code: 'invalidParams', message: expect.stringContaining('requestId') },
    { ok: false, code: 'forbidden' },
    { ok: false, code: 'invalidParams', message: expect.stringContaining('arguments') },
  ])
})

test('the token of agents does not open the control socket', async ({ home, page }) => {
  await new StatusBar(page).waitForHealth()
  const { controlSocket, controlToken, agentToken } = await home.whenHostIsKnown()
  expect(await hello(controlSocket, agentToken)).toMatchObject({ error: { code: -32807 } })
  expect(await hello(controlSocket, 'x'.repeat(agentToken.length))).toMatchObject({ error: { code: -32807 } })
  expect(await hello(controlSocket, controlToken)).toMatchObject({ result: { kind: 'app' } })
  // Without a hello nothing is answered but that.
  expect(await firstAnswer(controlSocket, 'host/invoke', { channel: 'feed.snapshot', args: [] })).toMatchObject({
    error: { code: -32807 },
  })
})

const hello = (socket: string, token: string) => firstAnswer(socket, 'control/hello', { token })

function firstAnswer(path: string, method: string, params: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    let text = ''
    socket.on('error', reject)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (!text.includes('\n')) return
      socket.destroy()
      resolve(JSON.parse(text.slice(0, text.indexOf('\n'))))
    })
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`)
  })
}
