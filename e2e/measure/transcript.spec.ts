import type { Page } from '@playwright/test'
import { writeLongSession } from '../fixtures/long-session.ts'
import { expect, test } from '../fixtures/test.ts'
import { Sessions } from '../pages/sessions.ts'
import { StatusBar } from '../pages/status-bar.ts'

interface Seen {
  longest: number
  over50: number
  over200: number
  frames: number
  slowFrames: number
}

/** Tasks over 50 ms and frames over 34 ms while `work` runs in the page. */
async function watched(page: Page, work: () => Promise<void>): Promise<Seen> {
  await page.evaluate(() => {
    const seen = { longest: 0, over50: 0, over200: 0, frames: 0, slowFrames: 0, stop: false }
    ;(window as unknown as { seen: typeof seen }).seen = seen
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        seen.longest = Math.max(seen.longest, Math.round(duration))
        seen.over50++
        if (duration > 200) seen.over200++
      }
    }).observe({ entryTypes: ['longtask'] })
    let last = performance.now()
    const frame = (now: number) => {
      seen.frames++
      if (now - last > 34) seen.slowFrames++
      last = now
      if (!seen.stop) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })
  await work()
  return page.evaluate(() => {
    const { seen } = window as unknown as { seen: Seen & { stop: boolean } }
    seen.stop = true
    return seen
  })
}

const heapMB = (page: Page): Promise<number> =>
  page.evaluate(() =>
    Math.round((performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 1e6),
  )

for (const { items, outputCharacters } of [
  { items: 50_000, outputCharacters: 2_000 },
  { items: 300, outputCharacters: 65_000 },
])
  test(`a session of ${items} items with ${outputCharacters} characters of output each`, async ({
    home,
    launchApp,
  }) => {
    writeLongSession(home, { items, outputCharacters, needleAt: Math.floor(items / 2) })
    const page = await (await launchApp()).page()
    await new StatusBar(page).waitForHealth()
    const sessions = new Sessions(page)
    await sessions.open()
    const link = page.getByRole('region', { name: 'Earlier sessions' }).getByRole('link').first()
    await expect(link).toBeVisible()
    const before = await heapMB(page)
    const opened = await page.evaluate(async () => {
      const startedAt = performance.now()
      document.querySelector<HTMLElement>('[aria-label="Earlier sessions"] a')!.click()
      while (!document.querySelector('[data-row]')) await new Promise((resolve) => requestAnimationFrame(resolve))
      return Math.round(performance.now() - startedAt)
    })
    const rows = sessions.transcript().locator('[data-row]')
    await expect(rows.last()).toBeVisible()
    const up = await watched(page, () =>
      page.evaluate(async () => {
        const box = document.querySelector<HTMLElement>('.transcript')!
        for (let frame = 0; frame < 600; frame++) {
          box.scrollTop -= 400
          await new Promise((resolve) => requestAnimationFrame(resolve))
        }
      }),
    )
    const held = await rows.count()
    const whole = await watched(page, () =>
      page.evaluate(async () => {
        const box = document.querySelector<HTMLElement>('.transcript')!
        const until = performance.now() + 240_000
        while (!document.querySelector('[data-row="item-0"]') && performance.now() < until) {
          box.scrollTop = 0
          await new Promise((resolve) => requestAnimationFrame(resolve))
        }
      }),
    )
    await expect(sessions.transcript().locator('[data-row="item-0"]')).toBeVisible()
    const after = await heapMB(page)
    const timed = async (act: () => Promise<void>, row: string): Promise<number> => {
      const startedAt = Date.now()
      await act()
      await expect(sessions.transcript().locator(`[data-row="${row}"]`)).toBeVisible()
      return Date.now() - startedAt
    }
    const toEnd = await timed(() => page.keyboard.press('Control+End'), `item-${items - 1}`)
    const toStart = await timed(() => page.keyboard.press('Control+Home'), 'item-0')
    await page.keyboard.press('Control+f')
    await page.getByRole('searchbox', { name: 'Find in this session' }).fill('needle')
    const find = await timed(() => page.keyboard.press('Enter'), `item-${Math.floor(items / 2)}`)
    console.log(
      JSON.stringify(
        {
          items,
          outputCharacters,
          firstContentMs: opened,
          scrolling600Frames: up,
          toTheStartByScrolling: whole,
          rowsHeld: held,
          heapMB: { before, after },
          toEndMs: toEnd,
          toStartMs: toStart,
          findMs: find,
        },
        null,
        1,
      ),
    )
  })
