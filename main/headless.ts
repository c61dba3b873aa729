/** `gatehouse serve`: the host of the app without a window, under plain Node. */
import { join } from 'node:path'
import { GATEHOUSE_VERSION } from '../sidecars/protocol/version.ts'
import { openHost, type OpenHost } from './control/open-host.ts'
import { createHost, type Host } from './host.ts'
import { NodeLauncher } from './supervisor/node-launcher.ts'
import { untilIdle } from './control/until-idle.ts'

export interface ServeOptions {
  /** End when no client, session or process needs the host any more. */
  untilIdle: boolean
}

/** Leaves time to say goodbye within the 5 s that service managers and people wait. */
const STOP_DEADLINE_MS = 4_500
/** Another host's goodbye, and a little more. */
const OTHER_HOST_MS = 6_000

/** Runs a headless host until a signal or idleness ends it; resolves with the exit code. */
export async function serveHeadless(options: ServeOptions): Promise<number> {
  const log = (message: string) => void process.stderr.write(`${new Date().toISOString()} ${message}\n`)
  const signalled = firstSignal()
  const { asked, requestStop } = stopRequest()
  const opened = await openHost({
    kind: 'headless',
    log,
    requestStop,
    endsWhenIdle: options.untilIdle,
    waitForOtherMs: OTHER_HOST_MS,
    create: ({ dataDir, runDir }) =>
      createHost({
        dataDir,
        runDir,
        version: GATEHOUSE_VERSION,
        launcher: new NodeLauncher(join(__dirname, '..', 'sidecars')),
        program: join(__dirname, '../../bin/gatehouse'),
        log,
      }),
  })
  if (!options.untilIdle) process.stdout.write(`${howToUse(opened)}\n`)
  const idle = options.untilIdle ? untilIdle(opened.host.feed, opened.control) : new Promise<never>(() => {})
  log(`stopping: ${await Promise.race([signalled, asked, idle])}`)
  await opened.stop(STOP_DEADLINE_MS)
  return 0
}

/** `asked` resolves with why once the owner asked through the control socket. */
function stopRequest(): { asked: Promise<string>; requestStop: () => void } {
  let requestStop = () => {}
  const asked = new Promise<string>((resolve) => {
    requestStop = () => resolve('the owner asked for it')
  })
  return { asked, requestStop }
}

/** Resolves with the name of the first signal that asks to stop; a second one does not wait for the rest. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    let count = 0
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        resolve(`got ${signal}`)
        // Sidecars end with their channel.
        if (++count > 1) process.exit(1)
      })
  })
}

function howToUse({ folders, host }: OpenHost<Host>): string {
  const sidecars = Object.values(host.feed.snapshot().tables.sidecars)
  const endpoints = sidecars.flatMap(({ name, state, endpoints, lastError }) =>
    state === 'ready'
      ? Object.entries(endpoints).map(
          ([transport, address]) => `  ${name.padEnd(14)} ${transport.padEnd(5)} ${address}`,
        )
      : [`  ${name.padEnd(14)} ${state}: ${lastError ?? 'starting'}`],
  )
  return [
    `Gatehouse ${GATEHOUSE_VERSION} runs without a window. Data folder: ${folders.dataDir}`,
    ...endpoints,
    '',
    'In another terminal:',
    '  gatehouse approvals            what waits for you; gatehouse approve ID, gatehouse deny ID',
    '  gatehouse run -- COMMAND       run a command through rules, exec server and proxy',
    '  gatehouse status               this host and its sidecars',
    'For an agent: gatehouse mcp is an MCP server on stdio.',
    'Ctrl-C stops this host and everything it started.',
  ].join('\n')
}
