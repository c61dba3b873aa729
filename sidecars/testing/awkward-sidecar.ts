/** A sidecar that misbehaves on request (`config.behaviour`), for tests of whoever supervises it. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { decode, object, optional, string, unknown } from '../protocol/decode.ts'
import { runSidecar } from '../rpc/sidecar.ts'

const awkwardConfig = object({ behaviour: optional(string), file: optional(string) })

/** Blocks the event loop for good: no answer, no signal handler, no end of the channel is seen. */
function hang(): never {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
}

/** A child in a session of its own that outlives its parent and SIGTERM; resolves with its pid. */
function spawnStubborn(): number {
  const script = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
  const child = spawn(process.execPath, ['-e', script], { detached: true, stdio: 'ignore' })
  child.unref()
  return child.pid ?? 0
}

runSidecar({
  name: (process.env['AWKWARD_NAME'] ?? 'exec-server') as 'exec-server',
  async underHost({ host, params }) {
    const { behaviour, file } = decode(awkwardConfig, params.config, 'config')
    if (behaviour === 'crash-on-start') {
      console.error('about to crash')
      process.exit(9)
    }
    if (behaviour === 'refuse') throw new Error('port 4512 is in use; choose another in the settings')
    if (behaviour === 'hang-on-start') hang()
    host.onRequest('awkward/crash', unknown, () => process.exit(3))
    host.onRequest(
      'awkward/throw',
      unknown,
      () => void setImmediate(() => void Promise.reject(new Error('nobody caught this'))),
    )
    host.onRequest('awkward/hang', unknown, () => hang())
    host.onRequest('awkward/spawn', unknown, () => ({ pid: spawnStubborn() }))
    host.onRequest('awkward/echo', unknown, (value) => value)
    host.onRequest('awkward/never', unknown, () => new Promise(() => {}))
    host.onRequest('awkward/askHost', unknown, () => host.request('host/name', {}, string))
    console.log(`generation ${params.generation} is up`)
    return {
      endpoints: { unix: `${params.runDir}/awkward.sock` },
      warnings: [],
      configure: async (config) => void host.notify('awkward/configured', config),
      shutdown: async () => {
        if (behaviour === 'hang-on-stop') hang()
        for (let n = 0; n < 3; n++) {
          console.error('shutting down')
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        if (file !== undefined) writeFileSync(file, 'shut down in order')
      },
    }
  },
  alone: async (argv) => {
    process.stdout.write(`${argv.join(' ')}\n`)
    return argv.length
  },
})
