import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stdioToUds } from './stdio-to-uds.ts'

async function server(serve: (socket: Socket) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-uds-'))
  const listening = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  const path = join(folder, 'x.sock')
  await new Promise<void>((resolve) => listening.listen(path, resolve))
  onTestFinished(() => {
    listening.close()
    rmSync(folder, { recursive: true })
  })
  return path
}

function stdio() {
  const collect = () => {
    const parts: Buffer[] = []
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        parts.push(chunk)
        setImmediate(done)
      },
    })
    return { stream, text: () => Buffer.concat(parts).toString() }
  }
  const [out, err] = [collect(), collect()]
  const stdin = new PassThrough()
  return { stdin, stdout: out.stream, stderr: err.stream, output: out.text, errors: err.text }
}

describe('stdio-to-uds', () => {
  it('ends its half with stdin and reads on until the other side ends', async () => {
    const path = await server((socket) => {
      let text = ''
      socket.on('data', (bytes) => (text += bytes))
      socket.on('end', () => setTimeout(() => socket.end(`got ${text}`), 20))
    })
    const io = stdio()
    io.stdin.end('hello')
    expect(await stdioToUds([path], io)).toBe(0)
    expect(io.output()).toBe('got hello')
  })

  it('ends when the other side does, with stdin still open and everything written', async () => {
    const path = await server((socket) => socket.end('x'.repeat(500_000)))
    const io = stdio()
    expect(await stdioToUds([path], io)).toBe(0)
    expect(io.output()).toHaveLength(500_000)
  })

  it('a reader of stdout that goes away is no error', async () => {
    const path = await server((socket) => socket.write('x'.repeat(100_000)))
    const io = stdio()
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
    expect(await stdioToUds([path], { ...io, stdout })).toBe(0)
  })

  it.each([[[]], [['a', 'b']]])('wants exactly one path, not %j', async (argv) => {
    const io = stdio()
    expect(await stdioToUds(argv, io)).toBe(1)
    expect(io.errors()).toContain('exactly one socket path')
  })

  it('names the path that cannot be connected to', async () => {
    const io = stdio()
    expect(await stdioToUds(['/nowhere/x.sock'], io)).toBe(1)
    expect(io.errors()).toContain('/nowhere/x.sock')
  })
})
