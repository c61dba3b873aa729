import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LocalExec } from '../../testing/local-exec.ts'
import { connectLines, ERAS, factsOf, streamPair, textOf, type Era } from '../../testing/mcp-line-client.ts'
import { RecordingHost } from '../../testing/recording-host.ts'
import { serveLines, type ServedLines } from '../attach/serve-lines.ts'
import { SessionRegistry } from '../sessions/session-registry.ts'

describe.each(ERAS)('tools, %s era', (era: Era) => {
  const exec = new LocalExec()
  test('x', async () => {
    const host = new RecordingHost()
    const registry = new SessionRegistry(host, exec)
    const { near, far } = streamPair()
    const served = serveLines(far.input, far.output, registry, { via: 'mcp-stdio', cwd: '/tmp' }, (m) => console.log(m))
    const client = await connectLines(near.input, near.output, era)
    console.log((await client.listTools()).tools.map((t) => t.name))
    const r = await client.callTool({ name: 'run_command', arguments: { shell: 'echo hi; exit 3' } })
    console.log(JSON.stringify(r))
    console.log(host.sessions)
    await client.close()
    await served.ended
    console.log(host.ended)
  })
})
