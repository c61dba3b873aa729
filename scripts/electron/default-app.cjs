// What `electron <folder>` runs in a runtime that comes without Electron's own starter app: loads the
// app of the folder named first on the command line, after the modules named with `-r`.
'use strict'
const { app } = require('electron')
const { readFileSync } = require('node:fs')
const path = require('node:path')

const preloads = []
let appFolder
for (let i = 1; i < process.argv.length; i++) {
  const word = process.argv[i]
  if (word === '-r' || word === '--require') preloads.push(process.argv[++i])
  else if (word === '-v' || word === '--version') {
    console.log(`v${process.versions.electron}`)
    process.exit(0)
  } else if (!word.startsWith('-') && appFolder === undefined) {
    appFolder = path.resolve(word)
    break
  }
}
if (appFolder === undefined) {
  console.error('usage: electron [-r module] <app folder>')
  process.exit(2)
}
for (const name of preloads) require(path.resolve(name))

const manifest = JSON.parse(readFileSync(path.join(appFolder, 'package.json'), 'utf8'))
const name = manifest.productName ?? manifest.name
app.setName(name)
app.setVersion(manifest.version)
if (manifest.desktopName) app.setDesktopName(manifest.desktopName)
app.setAppPath(appFolder)
app.setPath('userData', path.join(app.getPath('appData'), name))
process.defaultApp = true
require(path.join(appFolder, manifest.main))
