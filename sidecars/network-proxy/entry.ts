import { setFlagsFromString } from 'node:v8'
import { runSidecar } from '../rpc/sidecar.ts'
import { alone } from './alone.ts'
import { underHost } from './under-host.ts'

// Lookups block a thread of the pool each; with the stock four, a few dead names would stop all others.
process.env.UV_THREADPOOL_SIZE ??= '32'

// V8 enlarges the space for new objects when many of them stay, which idle tunnels do: a third of their
// memory would be room for garbage that this process never has. Throughput does not change.
setFlagsFromString('--semi-space-growth-factor=1')

runSidecar({ name: 'network-proxy', underHost, alone })
