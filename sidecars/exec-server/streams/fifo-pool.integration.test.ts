import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FifoPool } from './fifo-pool.ts'

describe('a pool of named pipes', () => {
  it('lets its folder be removed, whenever it is closed', async () => {
    for (let delayMs = 0; delayMs < 10; delayMs += 0.25) {
      const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fifos-'))
      const pool = new FifoPool(folder)
      pool.prepare()
      const waiting = pool.open().then(
        () => 'opened',
        (error: Error) => error.message,
      )
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      await pool.close()
      rmSync(folder, { recursive: true })
      expect(await waiting).toMatch(/^opened$|^mkfifo failed|closing/)
      await expect(pool.open().then((pipe) => pipe.path)).rejects.toThrow()
    }
  })
})
