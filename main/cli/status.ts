import { hostFolders } from '../control/data-folder.ts'
import { readArguments, type Command } from './command.ts'
import { NOT_RUNNING, tryConnect } from './connect.ts'
import { age, countOf, printJson, printLine, table, visible } from './print.ts'

export const status: Command = {
  name: 'status',
  summary: 'Show the running host, its sidecars and what waits.',
  help: `Usage: gatehouse status [--json]

What needs your attention, such as a broken rules file, stands below the sidecars.
Exit code 0 when a host runs and all sidecars are ready, 1 otherwise.`,
  run: async (argv) => {
    const { values } = readArguments(argv, { json: { type: 'boolean' } })
    const connection = await tryConnect()
    if (!connection) {
      if (values.json) printJson({ running: false, dataDir: hostFolders().dataDir })
      else printLine(NOT_RUNNING)
      return 1
    }
    const { client } = connection
    try {
      const { tables, host } = await client.invoke('feed.snapshot')
      const sidecars = Object.values(tables.sidecars)
      const counts = {
        pending: Object.values(tables.approvals).filter(({ state }) => state === 'pending').length,
        sessions: Object.values(tables.sessions).filter(({ closedAtMs }) => closedAtMs === null).length,
        processes: Object.values(tables.processes).filter(({ state }) => state === 'running' || state === 'starting')
          .length,
      }
      if (values.json)
        printJson({
          running: true,
          ...client.host,
          dataDir: host.dataDir,
          sidecars,
          notices: Object.values(tables.notices),
          ...counts,
        })
      else {
        printLine(
          `Gatehouse ${client.host.version} (${client.host.kind}), process ${client.host.pid}, up ${age(host.startedAtMs)}`,
        )
        printLine(`data folder ${visible(host.dataDir)}`)
        const { pending, sessions, processes } = counts
        printLine(
          `${pending} waiting for you, ${countOf(sessions, 'session')}, ${countOf(processes, 'process', 'processes')}\n`,
        )
        printLine(
          table(
            ['SIDECAR', 'STATE', 'PID', 'RESTARTS', 'ENDPOINTS'],
            sidecars.map((sidecar) => [
              sidecar.name,
              sidecar.state,
              String(sidecar.pid ?? '-'),
              String(sidecar.restarts),
              Object.values(sidecar.endpoints).join(' '),
            ]),
          ),
        )
        for (const { name, state, lastError, stderrTail, warnings } of sidecars) {
          for (const warning of warnings) printLine(`\n${name}: ${visible(warning)}`)
          if (state === 'ready' || lastError === null) continue
          printLine(`\n${name}: ${visible(lastError)}`)
          for (const line of stderrTail.slice(-5)) printLine(`  ${visible(line)}`)
        }
        for (const { level, message } of Object.values(tables.notices).sort((a, b) => a.atMs - b.atMs))
          printLine(`\n${level}: ${visible(message)}`)
      }
      return sidecars.length > 0 && sidecars.every(({ state }) => state === 'ready') ? 0 : 1
    } finally {
      client.close()
    }
  },
}
