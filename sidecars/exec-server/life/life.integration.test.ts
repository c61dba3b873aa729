import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

const pgrep = (...args: string[]): number[] => {
  try {
    return execFileSync('pgrep', args, { encoding: 'utf8' }).trim().split('\n').map(Number)
  } catch {
    return []
  }
}
/** Pids of `sleep` with exactly this argument. */
const sleepers = (seconds: string) => pgrep('-fx', `sleep ${seconds}`)
/** They come a few milliseconds after the first process. */
const watchdogs = (server: ExecServerAlone) => pgrep('-P', String(server.pid), '-f', 'gatehouse-watchdog')
const GONE = { timeout: 5_000, interval: 20 }

describe('terminate', () => {
  let server: ExecServerAlone
  let client: ExecWireClient
  beforeAll(async () => {
    server = await startExecServerAlone()
    client = await ExecWireClient.open(server.url)
  })
  afterAll(async () => {
    client.drop()
    await server.stop()
  })

  it('E18 ends a group that ignores SIGTERM, and a second one finds nothing to end', async () => {
    const script = 'trap "" TERM; (trap "" TERM; exec sleep 987.1) & echo go; while :; do sleep .2; done'
    const process = await client.run(['bash', '-c', script]).running()
    await process.said('go')
    expect(await process.terminate()).toEqual({ running: true })
    await process.exited()
    expect(process.exitCode).toBe(137)
    await expect.poll(() => sleepers('987.1'), GONE).toEqual([])
    expect(await process.terminate()).toEqual({ running: false })
  })

  it('E20 also ends what has left the group and the session', async () => {
    const script = 'setsid sleep 987.2 </dev/null >/dev/null 2>&1 & echo go; sleep 987.3'
    const process = await client.run(['bash', '-c', script]).running()
    await process.said('go')
    await expect.poll(() => sleepers('987.2').length, GONE).toBe(1)
    await process.terminate()
    await process.closed()
    await expect.poll(() => [...sleepers('987.2'), ...sleepers('987.3')], GONE).toEqual([])
  })

  it('E20 also ends a stray whose parent has gone, once it was seen', async () => {
    const script = '(setsid sleep 987.6 </dev/null >/dev/null 2>&1 & sleep 1.5) ; echo orphaned; sleep 987.7'
    const process = await client.run(['bash', '-c', script]).running()
    await process.said('orphaned')
    await process.terminate()
    await expect.poll(() => sleepers('987.6'), GONE).toEqual([])
  })

  it('E20 also ends what hides perfectly but still holds the output', async () => {
    const script = 'setsid sh -c "(sleep 987.9 &) &"; sleep 0.1; echo orphaned; sleep 987.91'
    const process = await client.run(['bash', '-c', script]).running()
    await process.said('orphaned')
    await process.terminate()
    await process.closed()
    await expect.poll(() => sleepers('987.9'), GONE).toEqual([])
  })

  it('E20 leaves nothing of a hundred commands that are stopped while they fork', async () => {
    const script =
      'trap "" TERM; sleep 987.92 & setsid sleep 987.93 & setsid sleep 987.94 </dev/null >/dev/null 2>&1 & wait'
    for (let i = 0; i < 50; i++) {
      const processes = [false, true].map((tty) => client.run(['bash', '-c', script], { tty }))
      for (const process of processes) await process.running()
      await new Promise((resolve) => setTimeout(resolve, i % 10))
      for (const process of processes) {
        await process.terminate()
        await process.closed()
      }
    }
    await expect.poll(() => ['987.92', '987.93', '987.94'].flatMap(sleepers), GONE).toEqual([])
  })

  it('never hits anybody else, not even a child that has everything of ours open for a moment', async () => {
    const stubborn = 'trap "" TERM; sleep 987.95 & setsid sleep 987.96 & wait'
    for (let i = 0; i < 60; i++) {
      const victims = [true, true].map((tty) => client.run(['sh', '-c', stubborn], { tty }))
      await Promise.all(victims.map((victim) => victim.running()))
      const ends = victims.map((victim) => victim.terminate())
      const others = Array.from({ length: 6 }, (_, k) => client.run(['echo', `${i} ${k}`], { tty: k % 3 > 0 }))
      for (const [k, other] of others.entries()) expect((await other.closed()).text().trim()).toBe(`${i} ${k}`)
      await Promise.all(ends)
      for (const victim of victims) await victim.closed()
    }
    await expect.poll(() => ['987.95', '987.96'].flatMap(sleepers), GONE).toEqual([])
  })

  it('E23 ends a stopped process', async () => {
    const process = await client.run(['bash', '-c', 'echo $$; kill -STOP $$; echo resumed']).running()
    await process.said('\n')
    const pid = Number(process.text())
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T '), GONE).toBe(true)
    expect(process.exitCode).toBeUndefined()
    await process.terminate()
    await process.closed()
    expect(process.text()).not.toContain('resumed')
  })
})

describe('when the server is gone', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-life-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const running: ExecServerAlone[] = []
  afterEach(async () => {
    for (const server of running.splice(0)) {
      server.child.kill('SIGKILL')
      await server.exited
    }
    for (const pid of pgrep('-f', '^sleep 987\\.')) process.kill(pid, 'SIGKILL')
  })
  const start = async () => {
    const server = await startExecServerAlone({ tmp: folder })
    running.push(server)
    return server
  }
  const instances = () => readdirSync(join(folder, `gatehouse-exec-${process.getuid?.()}`))

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'E21 after %s its processes go with it, on pipes and terminals',
    async (signal) => {
      const server = await start()
      const client = await ExecWireClient.open(server.url)
      await client.run(['bash', '-c', 'trap "" TERM HUP; echo go; exec sleep 987.4']).said('go')
      await client.run(['bash', '-c', 'trap "" TERM HUP; echo go; exec sleep 987.41'], { tty: true }).said('go')
      const stray = 'setsid sleep 987.42 </dev/null >/dev/null 2>&1 & sleep 987.43'
      await client.run(['bash', '-c', stray]).running()
      await expect.poll(() => sleepers('987.42').length, GONE).toBe(1)
      // The stray is known when it has been looked at once.
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      server.child.kill(signal)
      await server.exited
      await expect.poll(() => ['987.4', '987.41', '987.42', '987.43'].flatMap(sleepers), GONE).toEqual([])
      await expect.poll(instances, GONE).toEqual([])
    },
  )

  it('E11 a loop that prints without end stops printing', async () => {
    const server = await start()
    const client = await ExecWireClient.open(server.url)
    const loop = await client.run(['sh', '-c', 'while :; do echo "worker crashed, restarting 987.44"; done']).running()
    await client.until(() => loop.bytes().length > 1_000_000)
    const held = () => Number(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }).split('\t')[0]) / 1024
    expect(held()).toBeLessThan(40)
    server.child.kill('SIGKILL')
    await server.exited
    const left = () =>
      execFileSync('sh', ['-c', 'pgrep -f "restarting 987.44" | grep -v $$ ; true'], { encoding: 'utf8' })
    await expect.poll(left, GONE).toBe('')
  })

  it('E21 what the watchdog could not end is ended by the next start, and said', async () => {
    const server = await start()
    const client = await ExecWireClient.open(server.url)
    await client.run(['bash', '-c', 'echo go; exec sleep 987.5']).said('go')
    await expect.poll(() => watchdogs(server), GONE).toHaveLength(1)
    process.kill(server.pid, 'SIGSTOP')
    process.kill(watchdogs(server)[0] ?? 0, 'SIGKILL')
    server.child.kill('SIGKILL')
    await server.exited
    expect(sleepers('987.5')).toHaveLength(1)
    const next = await start()
    await expect.poll(() => sleepers('987.5'), GONE).toEqual([])
    expect(next.stderr()).toMatch(/ended process \d+, left behind/)
  })

  it('nothing is left of one that never ran anything', async () => {
    const server = await start()
    server.child.kill('SIGTERM')
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(instances()).toEqual([])
  })

  it('a watchdog that was killed is started again', async () => {
    const server = await start()
    const client = await ExecWireClient.open(server.url)
    await client.run(['bash', '-c', 'echo go; exec sleep 987.8']).said('go')
    await expect.poll(() => watchdogs(server), GONE).toHaveLength(1)
    const [first = 0] = watchdogs(server)
    process.kill(first, 'SIGKILL')
    await expect.poll(() => watchdogs(server).filter((pid) => pid !== first), GONE).toHaveLength(1)
    server.child.kill('SIGKILL')
    await server.exited
    await expect.poll(() => sleepers('987.8'), GONE).toEqual([])
  })
})
