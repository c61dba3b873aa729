import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXEC_SERVER_FILE } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-stdio-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the stdio transport', () => {
  const start = () => {
    const child = spawn(process.execPath, [EXEC_SERVER_FILE, '--listen', 'stdio'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: folder },
    })
    const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
    return { child, exited, client: ExecWireClient.overStdio(child) }
  }

  it('E07 puts one message on each line whatever children print, and children cannot reach it', async () => {
    const { client, exited } = start()
    await client.initialize()
    client.send('\r')
    client.send('   ')
    const script = 'echo "{\\"id\\":1,\\"result\\":{}}"; readlink /proc/self/fd/* ; printf "x\\342\\200\\250y\\n"'
    const process = await client.run(['sh', '-c', script]).closed()
    expect(process.text()).toContain('{"id":1,"result":{}}\n')
    expect(process.text()).toContain('x\u2028y\n')
    // Only its own three and what readlink opened: no copy of the protocol's pipes.
    const targets = process.text().match(/(socket|pipe):\[\d+\]/g) ?? []
    expect(new Set(targets).size).toBeLessThanOrEqual(3)
    client.drop()
    expect(await exited).toBe(0)
  })

  it('answers noise with the error of its kind and lives on', async () => {
    const { client, exited } = start()
    client.send('server ready on port 0')
    await client.until(() => client.messages.length === 1)
    expect(client.messages[0]?.error?.message).toMatch(/^failed to parse JSON-RPC message from exec-server stdio: /)
    expect(await client.initialize()).toHaveProperty('result')
    client.drop()
    expect(await exited).toBe(0)
  })

  it('ends with its input and takes its processes with it', async () => {
    const { client, exited } = start()
    await client.initialize()
    const process = await client.run(['sh', '-c', 'echo $$; exec sleep 300']).running()
    await process.said('\n')
    const pid = Number(process.text())
    client.drop()
    expect(await exited).toBe(0)
    const isGone = () => {
      try {
        return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
      } catch {
        return true
      }
    }
    await expect.poll(isGone, { timeout: 5_000 }).toBe(true)
  })
})
