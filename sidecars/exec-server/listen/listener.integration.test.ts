import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { EXEC_SERVER_FILE, startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'

let server: ExecServerAlone
beforeAll(async () => {
  server = await startExecServerAlone()
})
afterAll(() => server.stop())

function http(url: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const sent = request(url.replace('ws://', 'http://'), { headers, method }, (response) => {
      let body = ''
      response.on('data', (bytes) => (body += String(bytes)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    sent.on('error', reject)
    sent.end()
  })
}
/** The status that an upgrade is answered with. */
function upgrade(url: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const socket = new WebSocket(url, { headers })
    socket.once('open', () => {
      socket.terminate()
      resolve({ status: 101, body: '' })
    })
    socket.once('unexpected-response', (_, response) => {
      let body = ''
      response.on('data', (bytes) => (body += String(bytes)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    socket.once('error', reject)
  })
}

describe('the HTTP side of the listener', () => {
  it('prints nothing but its address, which has no slash at its end', () => {
    expect(server.url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+$/)
  })

  it('answers health checks, and tells other requests what it expects', async () => {
    expect(await http(`${server.url}/readyz`)).toEqual({ status: 200, body: '' })
    expect(await http(`${server.url}/healthz`)).toEqual({ status: 200, body: '' })
    expect((await http(`${server.url}/readyz`, {}, 'POST')).status).toBe(405)
    expect(await http(server.url)).toEqual({ status: 400, body: expect.stringContaining('upgrade') })
    expect((await http(`${server.url}/other`)).status).toBe(404)
  })

  it('takes upgrades on / with any query and nowhere else', async () => {
    expect((await upgrade(`${server.url}/?a=b`)).status).toBe(101)
    expect((await upgrade(`${server.url}/other`)).status).toBe(404)
  })

  it('E115 refuses whatever carries an Origin, and names that were made to point here', async () => {
    expect(await upgrade(server.url, { Origin: 'https://evil.example' })).toEqual({ status: 403, body: '' })
    expect((await upgrade(server.url, { Origin: 'null' })).status).toBe(403)
    expect((await http(`${server.url}/readyz`, { Origin: 'http://localhost:5173' })).status).toBe(403)
    expect((await upgrade(server.url, { Host: 'rebind.example:80' })).status).toBe(403)
    expect((await upgrade(server.url, { Host: 'localhost:80' })).status).toBe(101)
  })

  it('answers the upgrade without protocol or extension', async () => {
    const response = await new Promise<string>((resolve) => {
      const { port, hostname } = new URL(server.url)
      const socket = connect(Number(port), hostname)
      socket.write(
        'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n' +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
          'Sec-WebSocket-Protocol: x\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n',
      )
      socket.once('data', (bytes) => {
        socket.destroy()
        resolve(String(bytes))
      })
    })
    expect(response).toContain('101 Switching Protocols')
    expect(response).toContain('sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    expect(response).not.toMatch(/sec-websocket-(protocol|extensions)/i)
  })
})

describe('tokens', () => {
  it('E115 lets only its own client in', async () => {
    const file = join(server.tmp, 'token')
    writeFileSync(file, 'correct horse\n'.replace(' ', '-'), { mode: 0o600 })
    const guarded = await startExecServerAlone({ args: ['--ws-auth', 'capability-token', '--ws-token-file', file] })
    try {
      const token = 'correct-horse'
      expect(await upgrade(guarded.url)).toEqual({ status: 401, body: 'missing websocket bearer token' })
      expect(await upgrade(guarded.url, { authorization: `Bearer ${token.slice(0, -1)}` })).toEqual({
        status: 401,
        body: 'invalid websocket bearer token',
      })
      expect((await upgrade(guarded.url, { authorization: 'Basic x' })).body).toBe('invalid authorization header')
      expect((await upgrade(`${guarded.url}/?token=${token}`)).status).toBe(401)
      expect((await upgrade(guarded.url, { authorization: `Bearer ${token}`, Origin: 'null' })).status).toBe(403)
      expect((await upgrade(guarded.url, { authorization: `bearer ${token}` })).status).toBe(101)
      expect((await http(`${guarded.url}/readyz`)).status).toBe(200)
    } finally {
      await guarded.stop()
    }
  })

  it('are checked as hashes too', async () => {
    const hash = createHash('sha256').update('t').digest('hex')
    const guarded = await startExecServerAlone({ args: ['--ws-auth', 'capability-token', '--ws-token-sha256', hash] })
    expect((await upgrade(guarded.url, { authorization: 'Bearer t' })).status).toBe(101)
    await guarded.stop()
  })
})

describe('what goes wrong at the start', () => {
  const run = (...args: string[]) =>
    new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
      const child = spawn(process.execPath, [EXEC_SERVER_FILE, ...args], {
        env: { ...process.env, TMPDIR: server.tmp },
      })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (bytes) => (stdout += String(bytes)))
      child.stderr.on('data', (bytes) => (stderr += String(bytes)))
      child.once('close', (code) => resolve({ code, stdout, stderr }))
    })

  it('is said on stderr with the exit code of the reference', async () => {
    const { port } = new URL(server.url)
    expect(await run('--listen', `ws://127.0.0.1:${port}`)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Address in use (os error 98)'),
    })
    expect(await run('--listen', 'ws://localhost:1')).toMatchObject({ code: 1, stdout: '' })
    expect((await run('--listen', '')).stderr).toContain('unsupported --listen URL ``')
    expect((await run('--nonsense')).code).toBe(2)
  })

  it('SIGTERM and SIGINT end the server with 0', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const other = await startExecServerAlone()
      other.child.kill(signal)
      expect(await other.exited).toEqual({ code: 0, signal: null })
    }
  })
})
