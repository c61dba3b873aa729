import { contextBridge, ipcRenderer } from 'electron'
import { createBridge, forwardOutputPorts } from './bridge.ts'

contextBridge.exposeInMainWorld('gatehouse', createBridge(ipcRenderer))
forwardOutputPorts(ipcRenderer, window)
