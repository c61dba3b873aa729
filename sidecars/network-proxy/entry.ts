import { runSidecar } from '../rpc/sidecar.ts'
import { alone } from './alone.ts'
import { compileEarly } from './early-compilation.ts'
import { underHost } from './under-host.ts'

// Lookups block a thread of the pool each; with the stock four, a few dead names would stop all others.
process.env.UV_THREADPOOL_SIZE ??= '32'

compileEarly()

runSidecar({ name: 'network-proxy', underHost, alone })
