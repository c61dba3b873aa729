import { mkdtempSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readEnvironmentInfo } from './environment/environment-info.ts'
import { ExecServer } from './exec-server.ts'
import { anybody } from './listen/authorization.ts'
import { ListenUrlError, parseListenUrl } from './listen/listen-url.ts'
import { listenWebSocket } from './listen/websocket-listener.ts'
import { registerMethodFamilies } from './method-families.ts'
import { inheritableEnvironment } from './processes/child-environment.ts'
import { noSandbox } from './sandbox/sandbox.ts'
import { LineCarrier } from './wire/line-carrier.ts'

/** `gatehouse exec-server --listen …`: serves until told to stop, then exits 0. */
export async function runAlone(argv: readonly string[]): Promise<number> {
  const listenAt = argv.indexOf('--listen')
  try {
    const address = parseListenUrl(listenAt < 0 ? 'ws://127.0.0.1:0' : (argv[listenAt + 1] ?? ''))
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-exec-'))
    const server = new ExecServer({
      sandbox: noSandbox,
      spool: { folder, limitBytes: 256 * 1024 * 1024 },
      inheritable: () => inheritableEnvironment(process.env, {}),
      environmentInfo: async () => readEnvironmentInfo(),
      registerMore: (methods) => registerMethodFamilies(methods),
      log: (line) => console.error(line),
      ...(address.kind === 'stdio' ? { detachedTtlMs: 0 } : {}),
    })
    const stop = new Promise<void>((resolve) => {
      process.once('SIGTERM', () => resolve())
      process.once('SIGINT', () => resolve())
      if (address.kind === 'stdio') {
        const output = openStdout()
        const connection = server.serve(new LineCarrier('stdio', process.stdin, output), {
          kind: 'agent',
          via: 'exec-stdio',
          address: 'stdio',
        })
        connection.own({ dispose: () => resolve() })
      }
    })
    const listener =
      address.kind === 'websocket'
        ? await listenWebSocket({
            ...address,
            authorize: anybody,
            onConnection: (carrier, peer) => server.serve(carrier, { kind: 'agent', via: 'exec-ws', address: peer }),
          })
        : undefined
    if (listener) process.stdout.write(`${listener.url}\n`)
    await stop
    server.close('the server was stopped')
    void listener?.close()
    rmSync(folder, { recursive: true, force: true })
    return 0
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    console.error(code === 'EADDRINUSE' ? 'Error: Address in use (os error 98)' : `Error: ${(error as Error).message}`)
    if (!(error instanceof ListenUrlError) && code === undefined) console.error((error as Error).stack)
    return 1
  }
}

function openStdout() {
  try {
    return new Socket({ fd: 1, readable: false, writable: true })
  } catch {
    return process.stdout
  }
}
