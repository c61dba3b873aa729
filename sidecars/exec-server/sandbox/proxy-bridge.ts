import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { findProgram } from '../processes/program-path.ts'
import { withoutMasters } from '../streams/terminal-masters.ts'
import type { Bubblewrap } from './bubblewrap-probe.ts'
import { REDIRECTOR } from './redirection/redirector-script.ts'
import { numbersOf } from './redirection/reporting-words.ts'
import { RELAY } from './relay-script.ts'
import type { Machine } from './seccomp/system-calls.ts'
import { preparationFailed, unavailable } from './sandbox.ts'

/** A healthy one needs some 20 ms. */
const START_TIMEOUT_MS = 5_000

/** Options of the bwrap that makes the namespace: nothing but that, and gone with us. */
const KEEPER = ['--die-with-parent', '--unshare-user', '--unshare-net', '--cap-drop', 'ALL', '--dev-bind', '/', '/']
/** For its addresses, its port 53 and its packets: rights in the namespace alone, given up by the redirector when it has these. */
const REDIRECTOR_RIGHTS = ['NET_ADMIN', 'NET_BIND_SERVICE', 'NET_RAW'].flatMap((right) => ['--cap-add', `CAP_${right}`])

/**
 * Listens on loopback inside the namespace and hands each connection, its port first, to a Unix socket,
 * which unlike IP is not bound to a namespace. In perl because the packaged app has no Node to run a
 * script with, and a shell cannot listen.
 */
const LISTENER = `
use strict;
use Socket;
my ($folder, $name, @ports) = @ARGV;
# A socket's path has to be shorter than that of a folder may be.
chdir $folder or die "chdir: $!\n";
$SIG{CHLD} = $SIG{PIPE} = 'IGNORE';
my %port_of;
my @listeners;
for my $port (@ports) {
  socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!\\n";
  setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
  bind($listener, sockaddr_in($port, INADDR_LOOPBACK)) or die "bind: $!\\n";
  listen($listener, 128) or die "listen: $!\\n";
  push @listeners, $listener;
  $port_of{fileno $listener} = $port;
}
$| = 1;
print "$$\\n";
for (;;) {
  my $ready = '';
  vec($ready, fileno($_), 1) = 1 for @listeners;
  select($ready, undef, undef, undef) > 0 or next;
  for my $listener (@listeners) {
    next unless vec($ready, fileno($listener), 1);
    accept(my $client, $listener) or next;
    my $child = fork;
    if (defined $child && $child == 0) { hand_on($client, $port_of{fileno $listener}); exit 0 }
  }
}
sub hand_on {
  my ($client, $port) = @_;
  socket(my $out, PF_UNIX, SOCK_STREAM, 0) or return;
  connect($out, sockaddr_un($name)) or return;
  send_all($out, pack('n', $port)) or return;
  relay($client, $out);
}
${RELAY}`

/** Programs of the system that a bridge needs beside bwrap. */
export interface BridgePrograms {
  nsenter: string
  perl: string
}

/** @throws WireError `sandboxUnavailable` naming what is missing */
export function findBridgePrograms(searchPath: string | undefined): BridgePrograms {
  const find = (name: string, packageName: string) => {
    const found = findProgram(name, '/', searchPath)
    if ('path' in found) return found.path
    throw unavailable(
      `${name} was not found on the server's PATH, so a command cannot be confined to the proxy; install it with: sudo apt-get install ${packageName}`,
    )
  }
  return { nsenter: find('nsenter', 'util-linux'), perl: find('perl', 'perl-base') }
}

export interface BridgeOptions extends BridgePrograms {
  bubblewrap: Bubblewrap
  /** Existing private folder for the socket. */
  folder: string
  /** Loopback ports of this machine that can be reached from inside, under the same numbers. */
  ports: readonly number[]
  /**
   * Takes over what commands inside connect to elsewhere (redirector-script.ts), for those that begin with
   * `reportingWords`; without it nothing is redirected.
   */
  redirection?: { machine: Machine; serve(socket: Socket): void } | undefined
}

/**
 * A network namespace of its own, with no way out but some loopback ports of this machine. Lives until it
 * is disposed, or until we are gone.
 */
export class ProxyBridge {
  private constructor(
    private readonly keeper: ChildProcess,
    private readonly server: Server,
    private readonly connections: ReadonlySet<Socket>,
    /** A process inside of the namespace. */
    private readonly pid: number,
    private readonly nsenter: string,
  ) {}

  /** @throws WireError `sandboxPreparation` when it cannot be made */
  static async open(options: BridgeOptions): Promise<ProxyBridge> {
    const { bubblewrap, perl, nsenter, folder, redirection } = options
    const connections = new Set<Socket>()
    const { server, name } = await listen(folder, (socket) => forward(socket, options, connections))
    const ports = options.ports.map(String)
    const inside = redirection
      ? [...REDIRECTOR_RIGHTS, '--', perl, '-e', REDIRECTOR, folder, name, numbersOf(redirection.machine), ...ports]
      : ['--', perl, '-e', LISTENER, folder, name, ...ports]
    const keeper = spawn(bubblewrap.path, [...KEEPER, ...inside], {
      env: {},
      cwd: '/',
      stdio: withoutMasters(['ignore', 'pipe', 'pipe']),
    })
    try {
      return new ProxyBridge(keeper, server, connections, await firstLine(keeper), nsenter)
    } catch (error) {
      keeper.kill('SIGKILL')
      server.close()
      throw preparationFailed(`no way to the proxy could be made for the command: ${(error as Error).message}`)
    }
  }

  /** What a command line begins with to run inside. It keeps the user it runs as. */
  get entering(): string[] {
    const space = (kind: string) => `--${kind}=/proc/${this.pid}/ns/${kind}`
    return [this.nsenter, '--preserve-credentials', space('user'), space('net'), '--']
  }

  dispose(): void {
    this.keeper.kill('SIGKILL')
    this.server.close()
    for (const connection of this.connections) connection.destroy()
  }
}

let made = 0

/** By way of a descriptor, for the same reason as the listener changes its folder. */
async function listen(
  folder: string,
  onConnection: (socket: Socket) => void,
): Promise<{ server: Server; name: string }> {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  const name = `bridge-${made++}`
  const server = createServer({ allowHalfOpen: true }, onConnection)
  server.unref()
  server.once('close', () => closeSync(fd))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(`/proc/self/fd/${fd}/${name}`, () => resolve())
  })
  return { server, name }
}

/** Two bytes name the port; then it is a pipe to there. Port 0: of the redirector. */
function forward(socket: Socket, { ports, redirection }: BridgeOptions, connections: Set<Socket>): void {
  const keep = (connection: Socket) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
    connection.on('error', () => connection.destroy())
  }
  keep(socket)
  const start = () => {
    const head = socket.read(2) as Buffer | null
    if (head === null) return void socket.once('readable', start)
    const port = head.readUInt16BE()
    if (port === 0 && redirection) return redirection.serve(socket)
    if (!ports.includes(port)) return void socket.destroy()
    const proxy = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    keep(proxy)
    proxy.once('close', () => socket.destroy())
    socket.once('close', () => proxy.destroy())
    socket.pipe(proxy).pipe(socket)
  }
  socket.once('end', () => socket.readableFlowing === null && socket.destroy())
  start()
}

/** The pid that the listener says when it is ready. */
function firstLine(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    let complained = ''
    const timer = setTimeout(() => reject(new Error('it did not start in time')), START_TIMEOUT_MS)
    child.stdout?.on('data', (bytes) => {
      said += String(bytes)
      if (!said.includes('\n')) return
      clearTimeout(timer)
      child.stdout?.destroy()
      child.stderr?.destroy()
      child.unref()
      resolve(Number(said))
    })
    child.stderr?.on('data', (bytes) => (complained += String(bytes)))
    child.once('error', reject)
    child.once('close', () => {
      clearTimeout(timer)
      reject(new Error(complained.trim() || 'it ended at once'))
    })
  })
}
