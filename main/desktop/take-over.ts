import { dialog } from 'electron'
import type { FeedSnapshot } from '../../preload/api.ts'
import { ControlClient } from '../control/control-client.ts'
import { hostFolders } from '../control/data-folder.ts'
import { readLiveHostFile, type HostFile } from '../control/host-file.ts'
import type { HostRunningError } from '../control/host-lock.ts'
import { isBusy } from '../control/until-idle.ts'

/** A host has five seconds for its goodbye; this is a little more. */
const GONE_LIMIT_MS = 7_000
const POLL_MS = 100

/**
 * Makes a host without a window give up the data folder to the app. One that was started for an agent and
 * has nothing to do is stopped without a question; for any other one the owner is asked.
 */
export class TakeOver {
  private readonly asked = new Set<string>()
  private waitedMs = 0

  /**
   * One attempt after `running`. Resolves with true when it is worth opening the folder again, false
   * when the owner leaves the other host at work.
   * @throws HostRunningError (`running`) when the other host has a window, or does not go in time
   */
  async attempt(running: HostRunningError): Promise<boolean> {
    const file = await readLiveHostFile(hostFolders().lockDir)
    if (file && file.kind !== 'headless') throw running
    // Without a file it is starting or stopping; asked once, it is on its way out.
    if (!file || this.asked.has(file.instanceId)) {
      if (this.waitedMs >= GONE_LIMIT_MS) throw running
      this.waitedMs += POLL_MS
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      return true
    }
    this.asked.add(file.instanceId)
    return askToStop(file)
  }
}

async function askToStop(file: HostFile): Promise<boolean> {
  const client = await ControlClient.connect(file)
  try {
    const snapshot = await client.invoke('feed.snapshot')
    const isSpare = client.host.endsWhenIdle === true && !isBusy(snapshot)
    if (!isSpare && !(await isWanted(file.pid, snapshot))) return false
    await client.stopHost()
    return true
  } finally {
    client.close()
  }
}

async function isWanted(pid: number, { tables }: FeedSnapshot): Promise<boolean> {
  const sessions = Object.values(tables.sessions).filter(({ closedAtMs }) => closedAtMs === null).length
  const processes = Object.values(tables.processes).filter(({ state }) => state === 'running').length
  const { response } = await dialog.showMessageBox({
    type: 'question',
    title: 'Gatehouse',
    message: `Gatehouse runs without a window already (process ${pid})`,
    detail:
      `It has ${counted(sessions, 'session')} and ${counted(processes, 'running process', 'running processes')}. ` +
      'Stopping it ends these processes; attached agents connect to the window by themselves.',
    buttons: ['Stop it and open the window', 'Leave it'],
    defaultId: 1,
    cancelId: 1,
  })
  return response === 0
}

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
