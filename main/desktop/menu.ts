import { Menu, type MenuItemConstructorOptions } from 'electron'

export interface MenuActions {
  /** Shows a section of the window, opening it when it is closed. */
  navigate(section: string): void
  nextRequest(): void
  quit(): void
  openDataFolder(): void
}

const SECTIONS = ['Inbox', 'Sessions', 'Processes', 'Network', 'Agents', 'Rules', 'Settings']

/**
 * The application menu. Keys that the page handles itself are only shown here (`registerAccelerator:
 * false`), so that a terminal in the page gets the keys it wants, Ctrl+R and Ctrl+M among them.
 */
export function installMenu(actions: MenuActions, isDevelopment: boolean): void {
  const isMac = process.platform === 'darwin'
  const sections: MenuItemConstructorOptions[] = SECTIONS.map((name, i) => ({
    label: name,
    accelerator: `CmdOrCtrl+${i + 1}`,
    registerAccelerator: false,
    click: () => actions.navigate(name.toLowerCase()),
  }))
  const quit: MenuItemConstructorOptions = {
    label: 'Quit Gatehouse',
    accelerator: 'CmdOrCtrl+Q',
    click: () => actions.quit(),
  }
  const template: MenuItemConstructorOptions[] = [
    ...(isMac
      ? [
          {
            label: 'Gatehouse',
            submenu: [
              { role: 'about' },
              { type: 'separator' },
              { role: 'hide' },
              { role: 'hideOthers' },
              { role: 'unhide' },
              { type: 'separator' },
              quit,
            ] satisfies MenuItemConstructorOptions[],
          },
        ]
      : []),
    {
      label: '&File',
      submenu: [
        { label: 'Open data folder', click: () => actions.openDataFolder() },
        { type: 'separator' },
        { label: 'Close window', accelerator: 'CmdOrCtrl+W', role: 'close' },
        ...(isMac ? [] : [quit]),
      ],
    },
    { role: 'editMenu' },
    {
      label: '&Go',
      submenu: [
        ...sections,
        { type: 'separator' },
        {
          label: 'Next request',
          accelerator: 'F8',
          registerAccelerator: false,
          click: () => actions.nextRequest(),
        },
      ],
    },
    {
      label: '&View',
      submenu: [
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { type: 'separator' },
        { role: 'togglefullscreen' },
        ...(isDevelopment ? [{ role: 'toggleDevTools' } satisfies MenuItemConstructorOptions] : []),
      ],
    },
  ]
  Menu.setApplicationMenu(Menu.buildFromTemplate(template))
}
