import type { ProcessView } from '../../preload/api.ts'
import { readArguments, type Command } from './command.ts'
import { withHost } from './connect.ts'
import { age, LINE_LIMIT, NAME_LIMIT, printJson, printLine, shellQuoted, shortened, table, visible } from './print.ts'

export const processes: Command = {
  name: 'processes',
  summary: 'List processes that agents and runs started.',
  help: `Usage: gatehouse processes [--all] [--json]

  --all    also those that ended and whose output can still be read
  --json   as JSON

Read their output with gatehouse logs ID.`,
  run: async (argv) => {
    const { values } = readArguments(argv, { all: { type: 'boolean' }, json: { type: 'boolean' } })
    const list = await withHost(async ({ client }) => {
      const { tables } = await client.invoke('feed.snapshot')
      return Object.values(tables.processes)
        .filter((process) => values.all || isAlive(process))
        .sort((a, b) => a.startedAtMs - b.startedAtMs)
    })
    if (values.json) printJson(list)
    else if (list.length === 0) printLine(values.all ? 'no processes' : 'no running processes')
    else
      printLine(
        table(
          ['ID', 'PID', 'STATE', 'AGE', 'SESSION', 'COMMAND'],
          list.map((process) => [
            process.id,
            String(process.pid ?? '-'),
            describeState(process),
            age(process.startedAtMs),
            shortened(visible(process.sessionTitle), NAME_LIMIT),
            shortened(visible(shellQuoted(process.argv)), LINE_LIMIT),
          ]),
        ),
      )
    return 0
  },
}

function isAlive({ state }: ProcessView): boolean {
  return state === 'starting' || state === 'running'
}

function describeState({ state, exitCode, exitSignal, detail }: ProcessView): string {
  if (state === 'failed') return `failed${detail === undefined ? '' : `: ${visible(detail)}`}`
  if (state !== 'exited' && state !== 'closed') return state
  return exitSignal === undefined ? `exit ${exitCode ?? '?'}` : visible(exitSignal)
}
