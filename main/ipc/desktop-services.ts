/** The channels that need the desktop itself: clipboard, browser, file dialogs, output ports. */
import { writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { clipboard, dialog, shell, type BrowserWindow } from 'electron'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { DesktopChannel } from '../intent-arguments.ts'
import type { ChannelServices } from './register-channels.ts'
import { saveOutput, type ReadOutput } from './save-output.ts'

export type DesktopServices = Pick<ChannelServices, DesktopChannel>

export interface DesktopServiceOptions {
  readOutput(processId: string): ReadOutput
  attachOutput: ChannelServices['processes.attach']
}

export function createDesktopServices({ readOutput, attachOutput }: DesktopServiceOptions): DesktopServices {
  return {
    'clipboard.write': async ([text]) => {
      // Returns a promise on current Electron, nothing on older ones.
      await clipboard.writeText(text)
      return null
    },
    'shell.openExternal': async ([address], { window }) => {
      const url = readHttpsAddress(address)
      if (await isConfirmed(window, url)) await shell.openExternal(url)
      return null
    },
    'processes.save': async ([id, format], { window }) => {
      const name = `${id}.${format === 'raw' ? 'log' : 'txt'}`
      const path = await choosePath(window, 'Save output', name)
      return path === null ? null : { path, bytes: await saveOutput(readOutput(id), path, format) }
    },
    'processes.attach': attachOutput,
    'egress.saveExport': async ([suggestedName, text], { window }) => {
      const path = await choosePath(window, 'Save export', suggestedName)
      if (path === null) return null
      await writeFile(path, text, { mode: 0o600 })
      return { path, bytes: Buffer.byteLength(text) }
    },
  }
}

/** Only https leaves the app: other schemes start programs. */
function readHttpsAddress(address: string): string {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    throw new RpcError('invalidParams', `${address.slice(0, 100)} is not an address`)
  }
  if (url.protocol !== 'https:') throw new RpcError('forbidden', 'only https addresses are opened in the browser')
  return url.href
}

async function isConfirmed(window: BrowserWindow | undefined, url: string): Promise<boolean> {
  const options = {
    type: 'question' as const,
    message: `Open ${new URL(url).host} in your browser?`,
    detail: url,
    buttons: ['Open', 'Cancel'],
    defaultId: 1,
    cancelId: 1,
  }
  const { response } = await (window ? dialog.showMessageBox(window, options) : dialog.showMessageBox(options))
  return response === 0
}

async function choosePath(window: BrowserWindow | undefined, title: string, name: string): Promise<string | null> {
  // The name comes from the page: a name, never a path.
  const options = { title, defaultPath: join(homedir(), name.replace(/[/\\\0]/g, '_')) }
  const { canceled, filePath } = await (window
    ? dialog.showSaveDialog(window, options)
    : dialog.showSaveDialog(options))
  return canceled || !filePath ? null : filePath
}
