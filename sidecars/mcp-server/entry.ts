import './runtime/node18-globals.ts'
import { runSidecar } from '../rpc/sidecar.ts'
import { runAlone } from './sidecar-alone.ts'
import { serveUnderHost } from './sidecar-under-host.ts'

runSidecar({ name: 'mcp-server', underHost: serveUnderHost, alone: runAlone })
