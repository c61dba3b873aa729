import { Console } from 'node:console'
import { Relay, type AttachPoint } from '../../sidecars/mcp-server/client/index.ts'
import { dataFolderPath, hostFolders } from '../control/data-folder.ts'
import { readLiveHostFile, type HostFile } from '../control/host-file.ts'
import { currentFolder } from './current-folder.ts'
import { startDetachedHost } from './detached-host.ts'

/** Below the 20 s and more that agents give an MCP server to start. */
const HOST_START_LIMIT_MS = 15_000

/** Program and arguments of a host that ends by itself once nobody uses it. */
export type HostCommand = readonly [string, ...string[]]

/**
 * `gatehouse mcp`: relays between the agent on stdin and stdout and the host until the agent closes its
 * end or a signal comes. Resolves with the exit code.
 * @param hostCommand how a host is started when none runs; default: this program with `serve`
 */
export async function runMcpRelay(
  env: NodeJS.ProcessEnv = process.env,
  hostCommand: HostCommand = [process.execPath, process.argv[1] ?? '', 'serve', '--until-idle'],
): Promise<number> {
  const log = (message: string) => void process.stderr.write(`gatehouse mcp: ${message}\n`)
  // stdout belongs to the protocol; libraries write to the console.
  globalThis.console = new Console(process.stderr, process.stderr)
  const { lockDir } = hostFolders(dataFolderPath(env))
  const relay = new Relay({
    agent: { input: process.stdin, output: process.stdout, cwd: currentFolder(), pid: process.ppid },
    findHost: async () => attachPoint(await readLiveHostFile(lockDir)),
    startHost: async (signal) => {
      log('no host is running; starting one (gatehouse serve --until-idle)')
      const limitMs = HOST_START_LIMIT_MS
      const host = await startDetachedHost({ lockDir, command: hostCommand, env, limitMs, signal })
      return { socketPath: host.mcpSocket, token: host.agentToken }
    },
    log,
  })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => relay.stop())
  await relay.run()
  process.stdin.destroy()
  // The last answers may still wait in a pipe.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
  return 0
}

/** Null for a host whose MCP server is not up yet. */
function attachPoint(host: HostFile | undefined): AttachPoint | null {
  return host && host.mcpSocket !== null ? { socketPath: host.mcpSocket, token: host.agentToken } : null
}
