// Loaded into the app's main process before the app itself (`electron -r`), so that the app needs to know
// nothing of tests: notes what tray, badge and notifications were told, for `probes.ts`.
'use strict'
const { app, dialog, Notification, shell, Tray } = require('electron')

const seen = {
  trayToolTip: '',
  trayMenu: [],
  trayClick: null,
  badge: 0,
  notifications: [],
  clickNotification: null,
  questions: [],
  openedAddresses: [],
}
globalThis.gatehouseProbes = seen

function watch(owner, name, note) {
  const real = owner[name]
  owner[name] = function (...args) {
    note.call(this, ...args)
    return real.apply(this, args)
  }
}

watch(Tray.prototype, 'setToolTip', function (text) {
  seen.trayToolTip = text
  seen.trayClick = () => this.emit('click')
})
watch(Tray.prototype, 'setContextMenu', (menu) => {
  seen.trayMenu = menu.items.map((item) => item.label)
})
watch(app, 'setBadgeCount', (count) => {
  seen.badge = count
})
// No desktop answers in a virtual display: say that there is one, and keep what would have been shown.
Notification.isSupported = () => true
watch(Notification.prototype, 'show', function () {
  seen.notifications.push({ title: this.title, body: this.body })
  seen.clickNotification = () => this.emit('click')
})
// Dialogs of the system cannot be pressed by a test: it says beforehand which button (by number) or file
// the owner will choose, and reads afterwards what was asked.
dialog.showMessageBox = async (...args) => {
  const options = args.at(-1)
  seen.questions.push({ message: options.message, detail: options.detail ?? '', buttons: options.buttons ?? [] })
  return { response: Number(process.env.GATEHOUSE_E2E_BUTTON ?? options.cancelId ?? 0), checkboxChecked: false }
}
dialog.showSaveDialog = async () => {
  const filePath = process.env.GATEHOUSE_E2E_SAVE_AS
  return { canceled: !filePath, filePath }
}
shell.openExternal = async (address) => {
  seen.openedAddresses.push(address)
}
