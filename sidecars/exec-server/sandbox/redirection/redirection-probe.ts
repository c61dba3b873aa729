import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { withoutMasters } from '../../streams/terminal-masters.ts'
import type { Bubblewrap } from '../bubblewrap-probe.ts'
import { Finding } from '../finding.ts'
import { ProxyBridge, type BridgePrograms } from '../proxy-bridge.ts'
import { unavailable } from '../sandbox.ts'
import type { Machine } from '../seccomp/system-calls.ts'
import { reportingWords } from './reporting-words.ts'

/** How long the try-out may take; a healthy one takes some 100 ms. */
const PROBE_TIMEOUT_MS = 10_000
const WALLS = ['--die-with-parent', '--unshare-user', '--unshare-pid', '--cap-drop', 'ALL']
const FILES = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc']
/** Connects to an address that exists nowhere, and prints what it hears there. */
const CALLER = String.raw`
use Socket;
socket(my $to, PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
connect($to, pack_sockaddr_in(9, inet_aton('198.19.255.254'))) or die "connect: $!\n";
print <$to>;
`
const HEARD = 'redirected\n'

/** Finds out once whether connections can be redirected on this machine. */
export class RedirectionProbe {
  private readonly finding = new Finding<void>()

  constructor(
    /** Existing private folder. */
    private readonly folder: string,
    private readonly machine: Machine,
  ) {}

  /**
   * @param field by which it was asked for
   * @throws WireError `sandboxUnavailable` naming the field, the reason and what to do
   */
  async require(field: string, programs: BridgePrograms & { bubblewrap: Bubblewrap }): Promise<void> {
    await this.finding
      .get(() => this.probe(programs))
      .catch((error: unknown) => {
        throw unavailable(
          `${field}: connections cannot be redirected here: ${(error as Error).message}; it takes Linux 5.9 or later with seccomp and a kernel that lets a process look into another one of its user; leave ${field} out and use the proxy variables`,
        )
      })
  }

  private async probe({ bubblewrap, perl, nsenter }: BridgePrograms & { bubblewrap: Bubblewrap }): Promise<void> {
    const { folder, machine } = this
    const redirection = { machine, serve: (socket: Socket) => void hear(socket) }
    const bridge = await ProxyBridge.open({ bubblewrap, perl, nsenter, folder, ports: [], redirection })
    try {
      const walls = [bubblewrap.path, ...WALLS, ...FILES, '--', perl, '-e', CALLER]
      const { output, complaint } = await run([...bridge.entering, ...reportingWords(perl, machine), ...walls])
      if (output !== HEARD) throw new Error(complaint.trim().split('\n').at(-1) || 'a try-out was not answered')
    } finally {
      bridge.dispose()
    }
  }
}

/** Says yes to whatever is asked. */
function hear(socket: Socket): void {
  socket.resume()
  socket.end(`\0${HEARD}`)
}

function run([program, ...words]: string[]): Promise<{ output: string; complaint: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program as string, words, {
      env: {},
      cwd: '/',
      stdio: withoutMasters(['ignore', 'pipe', 'pipe']),
      timeout: PROBE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
    let output = ''
    let complaint = ''
    child.stdout?.on('data', (bytes) => (output += String(bytes)))
    child.stderr?.on('data', (bytes) => (complaint += String(bytes)))
    child.once('error', reject)
    child.once('close', () => resolve({ output, complaint }))
  })
}
