import { isSameProcess } from '../../sidecars/rpc/process-identity.ts'
import { CommandError, readArguments, type Command } from './command.ts'
import { withHost } from './connect.ts'
import { printLine } from './print.ts'

/** A host has five seconds for its goodbye; this is a little more. */
const GONE_LIMIT_MS = 7_000
const LOOK_INTERVAL_MS = 50

export const stop: Command = {
  name: 'stop',
  summary: 'Stop the running host and everything it started.',
  help: `Usage: gatehouse stop

Returns when the host is gone. The app is quit like from its menu.`,
  run: async (argv) => {
    readArguments(argv, {})
    const host = await withHost(async ({ client, file }) => {
      await client.stopHost()
      return file
    })
    for (const deadlineMs = Date.now() + GONE_LIMIT_MS; Date.now() < deadlineMs;) {
      if (!(await isSameProcess(host))) {
        printLine('stopped')
        return 0
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS))
    }
    throw new CommandError(`the host (process ${host.pid}) did not stop within ${GONE_LIMIT_MS / 1000} s`)
  },
}
