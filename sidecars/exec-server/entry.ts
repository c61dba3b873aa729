import { setFlagsFromString } from 'node:v8'
import { runSidecar } from '../rpc/sidecar.ts'
import { runAlone } from './alone.ts'
import { serveUnderHost } from './host/under-host.ts'

// What we throw away is young and small. Waking helper threads for it costs more than they save, and on
// a busy machine everything here waits until they have had their turn.
setFlagsFromString('--no-parallel-scavenge')

runSidecar({ name: 'exec-server', underHost: serveUnderHost, alone: runAlone })
