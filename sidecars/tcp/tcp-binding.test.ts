import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'

type Find = (name: string) => Record<string, unknown>
const runtime = process as unknown as { binding: Find | undefined }
const { binding } = runtime

/** What a process gets in which `process.binding` is `find`. */
async function loadWith(find: Find | undefined): Promise<unknown> {
  runtime.binding = find
  vi.resetModules()
  return (await import('./tcp-binding.ts')).tcpBinding()
}

describe('tcpBinding', () => {
  afterEach(() => {
    runtime.binding = binding
    vi.resetModules()
  })

  it('is there in this runtime, and nobody hears of a deprecation', async () => {
    const warnings: unknown[] = []
    const onWarning = (warning: unknown) => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const told: unknown[] = []
    const find: Find = (name) => {
      told.push(process.noDeprecation)
      return binding!.call(process, name)
    }
    expect(await loadWith(find)).toMatchObject({ SOCKET: expect.any(Number) as number })
    expect(told).toEqual([true, true])
    expect(process.noDeprecation).toBeFalsy()
    await new Promise((resolve) => setImmediate(resolve))
    expect(warnings).toEqual([])
  })

  it.each<[string, Find | undefined]>([
    ['is gone', undefined],
    [
      'is forbidden',
      () => {
        throw Object.assign(new Error('process.binding'), { code: 'ERR_ACCESS_DENIED' })
      },
    ],
    ['gives nothing', () => ({})],
    ['has no constants', (name) => ({ ...binding!.call(process, name), constants: undefined })],
    ['counts elsewhere', (name) => ({ ...binding!.call(process, name), kReadBytesOrError: undefined })],
    ['keeps its state otherwise', (name) => ({ ...binding!.call(process, name), streamBaseState: [] })],
    ['has handles without a method', (name) => ({ ...binding!.call(process, name), TCP: Date })],
  ])('is undefined where it %s', async (_how, find) => {
    expect(await loadWith(find)).toBeUndefined()
    expect(process.noDeprecation).toBeFalsy()
  })
})

describe('listeningHandle', () => {
  async function listening(at: string | number): Promise<Server> {
    const server = createServer()
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(at, resolve))
    return server
  }

  it('is that of a TCP listener, and of no other', async () => {
    const { listeningHandle, tcpBinding } = await import('./tcp-binding.ts')
    const found = tcpBinding()!
    expect(listeningHandle(await listening(0), found)).toBeInstanceOf(found.Tcp)
    const path = process.platform === 'win32' ? '\\\\.\\pipe\\gatehouse-test' : join(tmpdir(), `gh-${process.pid}.sock`)
    expect(listeningHandle(await listening(path), found)).toBeUndefined()
    expect(listeningHandle(createServer(), found)).toBeUndefined()
  })
})
