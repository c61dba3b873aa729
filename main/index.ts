/** The app: the same host as `gatehouse serve`, with a window, a tray and an orderly way in and out. */
import { join } from 'node:path'
import { app, BrowserWindow, nativeTheme, session, shell } from 'electron'
import type { Events } from '../preload/api.ts'
import { windowProfileFolder } from './desktop/app-folders.ts'
import { registerPageScheme, servePage } from './desktop/app-protocol.ts'
import { NextRequestShortcut } from './desktop/global-shortcut.ts'
import { guardSession } from './desktop/guard-contents.ts'
import { MainWindow } from './desktop/main-window.ts'
import { installMenu } from './desktop/menu.ts'
import { RequestNotifications } from './desktop/notifications.ts'
import { PendingApprovals } from './desktop/pending-approvals.ts'
import { coordinateQuit } from './desktop/quit-coordinator.ts'
import { Refusals } from './desktop/refusals.ts'
import { followSettings } from './desktop/settings-follower.ts'
import { endFailedStart } from './desktop/start-failure.ts'
import { startHost } from './desktop/start-host.ts'
import { GateTray } from './desktop/tray.ts'
import { UtilityLauncher } from './desktop/utility-launcher.ts'
import type { Host } from './host.ts'
import { createChannelServices, OWNER_AT_WINDOW } from './ipc/channel-services.ts'
import { createDesktopServices } from './ipc/desktop-services.ts'
import { forwardEvent } from './ipc/event-forwarding.ts'
import { createAttachOutput } from './ipc/output-ports.ts'
import { registerChannels } from './ipc/register-channels.ts'

/** `out/`, also when that lies inside the package's archive. */
const BUILT = join(__dirname, '..')

const profile = windowProfileFolder(process.env)
if (profile) app.setPath('userData', profile)
registerPageScheme()
// Turning the sandbox on for all would take back a `--no-sandbox` that root needs, and nothing would start.
if (!app.commandLine.hasSwitch('no-sandbox')) app.enableSandbox()

if (app.requestSingleInstanceLock()) void app.whenReady().then(start).catch(endFailedStart)
// The other one shows its window: `second-instance`.
else app.exit(0)

async function start(): Promise<void> {
  const launcher = new UtilityLauncher(join(BUILT, 'sidecars'))
  let desktop: Desktop | undefined
  const opening = startHost({
    launcher,
    // The window opens while the sidecars start: it shows how that goes.
    created: (host) => {
      desktop = openDesktop(host, launcher)
    },
  })
  // From now on: who quits during the start gets an orderly end as well.
  coordinateQuit({
    hide: () => desktop?.hide(),
    stop: async (deadlineMs) => {
      const opened = await opening.catch(() => undefined)
      await opened?.stop(deadlineMs)
      desktop?.dispose()
    },
  })
  if (!(await opening)) app.exit(0)
}

interface Desktop {
  hide(): void
  dispose(): void
}

function openDesktop(host: Host, launcher: UtilityLauncher): Desktop {
  const refusals = new Refusals(({ what, detail }) => host.recordRefusal(what, detail))
  servePage(session.defaultSession, join(BUILT, 'renderer'))
  guardSession(session.defaultSession, refusals)

  const pending = new PendingApprovals(host.feed)
  const settings = followSettings(host.feed)
  const mainWindow = new MainWindow({
    preloadFile: join(BUILT, 'preload/index.cjs'),
    userDataDir: app.getPath('userData'),
    refusals,
    opened: (window) => {
      forwardEvent(window, 'feed.batch', (listener) => host.feed.subscribe(listener))
      forwardEvent(window, 'threads.news', (listener) => host.onThreadNews(listener))
    },
    focused: () => notifications.clear(),
  })
  const navigate = async (section: string, id: string | null = null) => {
    const window = await mainWindow.show()
    if (!window.isDestroyed()) window.webContents.send('navigate', { section, id } satisfies Events['navigate'])
  }
  const openRequest = (id?: string) => void (id === undefined ? mainWindow.show() : navigate('inbox', id))
  const openNextRequest = () => openRequest(pending.list()[0]?.id)

  const notifications = new RequestNotifications({
    pending,
    isWanted: () => settings.current.notifications,
    isWindowInFront: () => mainWindow.isInFront,
    open: openRequest,
  })
  const tray = new GateTray(pending, { open: openRequest, quit: () => app.quit() })
  pending.onChange(() => app.setBadgeCount(pending.count))
  const shortcut = new NextRequestShortcut(openNextRequest, (message) => host.notify('global-shortcut', message))
  settings.onChange(({ theme, globalShortcut }) => {
    nativeTheme.themeSource = theme === 'high-contrast' ? 'dark' : theme
    shortcut.set(globalShortcut)
  })
  installMenu(
    {
      navigate: (section) => void navigate(section),
      nextRequest: openNextRequest,
      quit: () => app.quit(),
      openDataFolder: () => void shell.openPath(host.dataDir),
    },
    !app.isPackaged,
  )

  const desktopServices = createDesktopServices({
    readOutput: (id) => (afterSeq, maxBytes) =>
      host.invoke('processes.read', [id, afterSeq, maxBytes], OWNER_AT_WINDOW),
    attachOutput: createAttachOutput((message, port) => launcher.postPort('exec-server', message, port)),
  })
  registerChannels({
    services: createChannelServices(host, desktopServices),
    refusals,
    windowOf: (contents) => BrowserWindow.fromWebContents(contents) ?? undefined,
  })

  app.on('second-instance', () => void mainWindow.show())
  app.on('activate', () => void mainWindow.show())
  app.on('window-all-closed', () => {
    if (settings.current.keepInTray === false && process.platform !== 'darwin') app.quit()
  })
  void mainWindow.show()
  return {
    hide: () => {
      shortcut.dispose()
      notifications.clear()
      mainWindow.hide()
    },
    dispose: () => {
      pending.dispose()
      tray.dispose()
    },
  }
}
