import { runSidecar } from '../rpc/sidecar.ts'
import { runAlone } from './alone.ts'
import { serveUnderHost } from './host/under-host.ts'

runSidecar({ name: 'exec-server', underHost: serveUnderHost, alone: runAlone })
