// What the CLI is made to do with the exec server, and what must come of it. `outputs` are the texts
// that the tools gave to the model, `calls` the methods that the CLI called, in order.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fixturePath, greeting, startHttpMcp } from './mcp-fixture.mjs'

/** A red dot, 1 by 1. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const run = (cmd, more = {}) => ({ tool: 'exec_command', args: { cmd, yield_time_ms: 10_000, ...more } })
const type = (chars, yieldMs) => ({
  tool: 'write_stdin',
  args: (outputs) => ({ session_id: sessionOf(outputs), chars, yield_time_ms: yieldMs }),
})
const done = { say: 'done' }
const sessionOf = (outputs) => Number(/session ID (\d+)/i.exec(outputs.map((o) => o.text).join('\n'))?.[1] ?? 0)
const exited = (text, code) => new RegExp(`exited with code ${code}|"exit_code":${code}`).test(text)
const patch = (body) => `apply_patch <<'EOF'\n*** Begin Patch\n${body}\n*** End Patch\nEOF`

/**
 * `mark` is unique to the run, `work` the folder of the commands, `environmentId` how the CLI calls the
 * exec server, `sandboxMode` the mode of the CLI. Each scenario gives `steps` for the model and `checks` of the outcome.
 */
export const scenarios = {
  command: ({ mark, work }) => ({
    steps: [run(`printf 'out-%s\\n' ${mark}; printf 'err\\n' >&2; pwd; exit 3`), done],
    checks: ({ outputs: [out], calls }) => ({
      'stdout came back': out.includes(`out-${mark}`),
      'stderr came back': /(^|\n)err/.test(out),
      'the exit code came back': exited(out, 3),
      'the folder was the right one': out.includes(basename(work)),
      'it ran on the exec server': calls.includes('process/start'),
    }),
  }),

  terminal: ({ mark }) => ({
    steps: [
      run('read line; echo "got:$line"; sleep 30', { tty: true, yield_time_ms: 1000 }),
      type(`${mark}\n`, 1500),
      type('\u0003', 2500),
      done,
    ],
    checks: ({ outputs: [first, second, third], calls }) => ({
      'the first call left it running': /session ID \d+/i.test(first),
      'what was typed reached it': second.includes(`got:${mark}`),
      'ctrl-c ended it': /exited with code/.test(third),
      'input went through process/write': calls.includes('process/write'),
    }),
  }),

  flood: ({ mark }) => ({
    steps: [run(`head -c 3000000 /dev/zero | tr '\\0' x; echo; echo tail-${mark}`, { yield_time_ms: 20_000 }), done],
    checks: ({ outputs: [out] }) => ({
      'the end of the output survived': out.includes(`tail-${mark}`),
      'the command ended well': exited(out, 0),
    }),
  }),

  /** The CLI's managed network: the exec server makes a proxy for the command and lets it reach nothing else. */
  'own-proxy': ({ mark }) => ({
    profile: 'interop',
    features: ['network_proxy = true'],
    config: [
      '[permissions.interop.filesystem]',
      '":root" = "read"',
      '":project_roots" = "write"',
      '":slash_tmp" = "write"',
      '[permissions.interop.network]',
      'enabled = true',
      'mode = "full"',
      '[permissions.interop.network.domains]',
      '"allowed.test" = "allow"',
    ],
    steps: [
      run(
        `echo active:$CODEX_NETWORK_PROXY_ACTIVE ${mark}; curl -sS http://refused.test/; curl -sS --noproxy '*' http://127.0.0.1:9/`,
      ),
      done,
    ],
    checks: ({ outputs: [out], said }) => {
      const of = (from, method) => said.find((s) => s.from === from && s.message.method === method)?.message.params
      return {
        'it asked for a proxy': of('client', 'process/start')?.networkProxy?.proxy.enabled === true,
        'the variables led there': out.includes(`active:1 ${mark}`),
        'a host without a rule was refused': /"status": ?"blocked"/.test(out),
        'it was told of it': of('server', 'network/policyDecision')?.reason === 'not_allowed',
        'there was no way around': /Failed to connect|Couldn't connect/.test(out),
      }
    },
  }),

  patch: ({ mark, work, sandboxMode }) => ({
    steps: [
      run(patch(`*** Add File: note-${mark}.txt\n+hello ${mark}`)),
      run(`cat note-${mark}.txt`),
      run(
        patch(
          `*** Update File: note-${mark}.txt\n*** Move to: sub/moved-${mark}.txt\n@@\n-hello ${mark}\n+bye ${mark}`,
        ),
      ),
      run(`cat sub/moved-${mark}.txt; ls`),
      done,
    ],
    checks: ({ outputs: [added, read, moved, listed], calls }) =>
      sandboxMode === 'read-only'
        ? {
            'the refusal says why': /patch rejected: writing is blocked by read-only sandbox/.test(added),
            'nothing was written': !existsSync(join(work, `note-${mark}.txt`)) && read.includes('No such file'),
            'nothing was tried': !calls.includes('fs/writeFile') && !calls.includes('fs/remove'),
          }
        : {
            'the file was added': /success/i.test(added),
            'commands see it': read.includes(`hello ${mark}`),
            'it was changed and moved': /success/i.test(moved),
            'commands see only the moved one': listed.includes(`bye ${mark}`) && !listed.includes(`note-${mark}`),
            'it went through fs methods': calls.includes('fs/writeFile') && calls.includes('fs/remove'),
          },
  }),

  image: ({ work }) => {
    const path = join(work, 'dot.png')
    writeFileSync(path, Buffer.from(PNG, 'base64'))
    return {
      steps: [{ tool: 'view_image', args: { path } }, done],
      checks: ({ images, calls }) => ({
        'the model saw it': images.length > 0,
        'it was read through fs/readFile': calls.includes('fs/readFile'),
      }),
    }
  },

  cut: ({ mark }) => ({
    steps: [run(`echo before-${mark}; sleep 3; echo after-${mark}; exit 6`, { yield_time_ms: 20_000 }), done],
    cutWhen: (message) => message.method === 'process/output',
    checks: ({ outputs: [out], said }) => {
      const resumed = said.filter((s) => s.message.method === 'initialize').map((s) => s.message.params.resumeSessionId)
      const session = said.find((s) => s.message.result?.sessionId)?.message.result.sessionId
      return {
        'output from before the cut survived': out.includes(`before-${mark}`),
        'output from after the cut arrived': out.includes(`after-${mark}`),
        'the exit code arrived': exited(out, 6),
        'the session was resumed': resumed.length > 1 && resumed[1] === session,
      }
    },
  }),

  'mcp-stdio': ({ mark, work, environmentId }) => ({
    config: [
      '[mcp_servers.fix]',
      `command = ${JSON.stringify(process.execPath)}`,
      `args = [${JSON.stringify(fixturePath)}]`,
      `environment_id = "${environmentId}"`,
      `cwd = ${JSON.stringify(work)}`,
      `env = { FIXTURE_MARK = "${mark}" }`,
      'default_tools_approval_mode = "approve"',
    ],
    steps: [{ tool: 'greet', namespace: 'mcp__fix', args: {} }, done],
    checks: ({ outputs: [out], calls }) => ({
      'the tool answered through the exec server': out.includes(greeting(mark)),
      'it was run and written to there': calls.includes('process/start') && calls.includes('process/write'),
    }),
  }),

  'mcp-http': async ({ environmentId }) => {
    const fixture = await startHttpMcp()
    return {
      config: [
        '[mcp_servers.fix]',
        `url = "${fixture.url}"`,
        `environment_id = "${environmentId}"`,
        'default_tools_approval_mode = "approve"',
      ],
      steps: [{ tool: 'greet', namespace: 'mcp__fix', args: {} }, done],
      checks: ({ outputs: [out], calls, said }) => ({
        'the tool answered through the exec server': out.includes(greeting('http')),
        'it was reached with http/request': calls.includes('http/request'),
        'bodies were streamed': said.some((s) => s.message.method === 'http/request/bodyDelta'),
      }),
      end: () => fixture.close(),
    }
  },

  'left-running': ({ mark }) => ({
    steps: [run(`sleep 300.${mark}`, { yield_time_ms: 500 }), done],
    checks: ({ outputs: [out], calls }) => ({
      'it was still running when the turn ended': /session ID \d+/i.test(out),
      'the CLI ended it': calls.includes('process/terminate'),
      'nothing of it is left': !isRunning(`sleep 300.${mark}`),
    }),
  }),
}

function isRunning(commandLine) {
  const listed = execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
  return listed.split('\n').some((line) => line.trim() === commandLine)
}
