import { RELAY } from '../relay-script.ts'

/** The abstract Unix socket, seen in its network namespace only, at which the script waits for the notices. */
export const DOOR = 'gatehouse-redirector'

/** What it begins a connection of its own with, behind a port of 0: see {@link Redirection.serve}. */
export const KIND = { stream: 1, names: 2 } as const

/**
 * Stands in for the listener of a proxy bridge, with the same arguments but one more (numbers of system calls,
 * `name=number,...`), and beside it answers for the kernel when a program connects (seccomp_unotify(2)): a stream to
 * elsewhere is connected to a listener in the namespace, and from there by way of the Unix socket. Every address is made one
 * of the namespace, so that names can be asked for wherever a program does, and nothing gets a way out by it: there
 * is no device but the loopback. When it ends, connecting fails.
 *
 * Whoever waits in connect(2) is answered with what the other side says: 0 or an error number, in one byte. Whoever
 * does not wait is connected at once, and reset when the answer is an error.
 */
export const REDIRECTOR = String.raw`
use strict;
use Socket;
my ($folder, $name, $numbers, @ports) = @ARGV;
my %number = map { my ($call, $number) = split /=/; ($call => $number + 0) } split /,/, $numbers;
# A socket's path has to be shorter than that of a folder may be.
chdir $folder or die "chdir: $!\n";
$SIG{CHLD} = $SIG{PIPE} = 'IGNORE';
my ($ENETUNREACH, $EINPROGRESS) = (101, 115);
# linux/in.h, linux/in6.h, asm-generic/socket.h, linux/tcp.h
my ($IP, $IP_PKTINFO, $IPV6, $IPV6_V6ONLY, $IPV6_RECVPKTINFO) = (0, 8, 41, 26, 49);
my ($SO_PROTOCOL, $SO_DOMAIN, $TCP, $MPTCP, $TCP_INFO, $TCP_CLOSE) = (38, 39, 6, 262, 11, 7);
# fcntl.h
my ($F_GETFL, $F_SETFL, $O_NONBLOCK) = (3, 4, 2048);
# linux/seccomp.h; the last one in its first spelling, which every kernel knows.
my ($NOTIF_RECV, $NOTIF_SEND, $NOTIF_ID_VALID, $CONTINUE) = (0xc0502100, 0xc0182101, 0x80082102, 1);
# Of addresses that nobody has; the others of 198.18.0.0/15 stand for names.
my $OWN = pack 'C4', 198, 18, 0, 1;

# What is to be done when something can be read, by descriptor.
my %ready;
# Attempts that a program waits for, by the inode of its socket; connections that are led here, by their source: those on
# their way, and those that are here before it was said what becomes of them.
my (%held, %arriving, %early);
# When sockets, by inode, were connected last. A signal may have come before the answer: then the call is made anew.
my %answered;
my $looked = 0;
# Where connections are led to, by family; from where the kernel tells of them.
my (%gate, $notices);

open_network();
for my $port (@ports) {
  my $listener = listener(AF_INET, pack_sockaddr_in($port, INADDR_LOOPBACK)) or die "port $port: $!\n";
  watch($listener, sub { relay_apart($_, ask(pack 'n', $port)) for map { $$_[0] } arrivals($listener) });
}
for my $family (AF_INET, AF_INET6) {
  my $gate = listener($family, anywhere($family, 0)) or next;
  ($gate{$family}) = port_and_host(getsockname $gate);
  watch($gate, sub { arrived(@$_) for arrivals($gate) });
  my $streams = listener($family, anywhere($family, 53)) or die "port 53: $!\n";
  watch($streams, sub { relay_apart($_, ask(pack 'nC', 0, 2)) for map { $$_[0] } arrivals($streams) });
  socket(my $datagrams, $family, SOCK_DGRAM, 0) or die "socket: $!\n";
  setsockopt($datagrams, $IPV6, $IPV6_V6ONLY, 1) if $family == AF_INET6;
  my ($level, $option) = $family == AF_INET ? ($IP, $IP_PKTINFO) : ($IPV6, $IPV6_RECVPKTINFO);
  setsockopt($datagrams, $level, $option, 1) or die "setsockopt: $!\n";
  bind($datagrams, anywhere($family, 53)) or die "port 53: $!\n";
  watch($datagrams, sub { asked_for_name($datagrams) });
}
$gate{+AF_INET} or die "no listener: $!\n";
my $door = door();
drop_rights();
$| = 1;
print "$$\n";

for (;;) {
  my $bits = '';
  vec($bits, $_, 1) = 1 for keys %ready;
  my $count = select($bits, undef, undef, %held || %early ? 0.5 : undef);
  if ($count > 0) {
    my %now = %ready;
    for my $fd (grep { vec($bits, $_, 1) } keys %now) {
      # The one before may have closed it, and another may have its number now.
      $now{$fd}->() if defined $ready{$fd} && $ready{$fd} == $now{$fd};
    }
  }
  if ((%held || %early) && time != $looked) { $looked = time; forget_abandoned() }
}

# Every address is one of ours; nothing is lost by it, there was no way to any of them.
sub open_network {
  socket(my $netlink, 16, SOCK_RAW, 0) or die "netlink: $!\n";
  my $change = sub {
    my ($type, $body) = @_;
    # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE
    send($netlink, pack('LSSLL', 16 + length $body, $type, 0x405, 1, 0) . $body, 0);
    defined recv($netlink, my $answer, 4096, 0) or return 0;
    $! = -unpack('x16l', $answer);
    return $! == 0;
  };
  # RTM_NEWADDR with IFA_LOCAL and IFA_ADDRESS: without it programs take the machine for one without IPv4.
  $change->(20, pack('CCCCL SSa4 SSa4', AF_INET, 32, 0, 0, 1, 8, 2, $OWN, 8, 1, $OWN)) or die "address: $!\n";
  # RTM_NEWROUTE, table and type local, with RTA_OIF (lo is always the first one) and RTA_PREFSRC
  $change->(24, pack('C8L SSL SSa4', AF_INET, 0, 0, 0, 255, 3, 254, 2, 0, 8, 4, 1, 8, 7, $OWN)) or die "route: $!\n";
  # Not to be had where IPv6 is off.
  $change->(24, pack('C8L SSL', AF_INET6, 0, 0, 0, 255, 3, 0, 2, 0, 8, 4, 1));
}

# They were for the network and the ports below 1024.
sub drop_rights {
  my ($version, $none) = (pack('LL', 0x20080522, 0), blank(24));
  syscall($number{capset}, $version, $none) == 0 or die "capset: $!\n";
}

# One caller, with the descriptor that the kernel gave it; then the door is gone.
sub door {
  socket(my $door, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!\n";
  bind($door, sockaddr_un("\0${DOOR}")) && listen($door, 1) or die "door: $!\n";
  watch($door, sub {
    accept(my $caller, $door) or return;
    unwatch($door);
    close $door;
    my ($said, undef, $control) = receive($caller, 0);
    exit 1 if $said eq '';
    open($notices, '+<&=', unpack 'x16l', $control) or exit 1;
    watch($notices, sub { noticed() });
    syswrite $caller, 'k';
  });
  return $door;
}

sub noticed {
  my $notice = blank(80);
  # Whoever it was about has ended, or everybody has.
  if (!ioctl($notices, $NOTIF_RECV, $notice)) { select undef, undef, undef, 0.01; return }
  my ($id, $pid, $fd, $at, $length) = unpack 'QL x4x4x4x8 Q3', $notice;
  my ($port, $host) = destination(memory($pid, $at, $length > 28 ? 28 : $length));
  return answer($id, 0, $CONTINUE) unless defined $port;
  my $socket = copy_of($pid, $fd & 0xffffffff);
  # Memory and socket were those of the caller, and of nobody who has got its number since.
  return unless is_valid($id);
  return answer($id, $ENETUNREACH) unless $socket;
  my $family = length $host == 4 ? AF_INET : AF_INET6;
  my $inode = (stat $socket)[1];
  my $is_again = exists $answered{$inode} && $answered{$inode} >= time - 1;
  return answer($id, 0, $is_again ? 0 : $CONTINUE) unless is_fresh($socket, $family);
  my $plain = plain($host);
  my $gate = $gate{length $plain == 4 ? AF_INET : AF_INET6} or return answer($id, $ENETUNREACH);
  my $to = $family == AF_INET ? pack_sockaddr_in($gate, $host) : pack_sockaddr_in6($gate, $host);
  my $question = pack 'nCC/a*n', 0, 1, $plain, $port;
  if (fcntl($socket, $F_GETFL, 0) & $O_NONBLOCK) { connect_at_once($id, $socket, $to, $question) }
  else { connect_when_answered($id, $socket, $inode, $to, $question) }
}

sub connect_when_answered {
  my ($id, $socket, $inode, $to, $question) = @_;
  # A signal came in between and the call was made anew, or another thread makes it as well.
  if ($held{$inode}) { push @{$held{$inode}{ids}}, $id; return }
  my $out = ask($question) or return answer($id, $ENETUNREACH);
  my $attempt = $held{$inode} = { ids => [$id], out => $out, socket => $socket };
  watch($out, sub {
    my $errno = verdict($out);
    unwatch($out);
    delete $held{$inode};
    my @ids = grep { is_valid($_) } @{$attempt->{ids}};
    if ($errno == 0 && @ids) {
      if (connect($socket, $to)) { $arriving{place(getsockname $socket)} = { out => $out, verdict => 0 } }
      else { $errno = $! + 0 }
    }
    answer($_, $errno) for @ids;
    delete @answered{grep { $answered{$_} < time - 1 } keys %answered};
    $answered{$inode} = time if $errno == 0;
    %$attempt = ();
  });
}

sub connect_at_once {
  my ($id, $socket, $to, $question) = @_;
  my $errno = connect($socket, $to) ? 0 : $! + 0;
  if ($errno == 0 || $errno == $EINPROGRESS) {
    my $out = ask($question);
    my $attempt = $arriving{place(getsockname $socket)} = { out => $out };
    if ($out) { watch($out, sub { $attempt->{verdict} = verdict($out); unwatch($out); settle($attempt) }) }
    else { $attempt->{verdict} = $ENETUNREACH }
  }
  close $socket;
  answer($id, $errno);
}

sub arrived {
  my ($client, $source) = @_;
  my $place = place($source);
  # Somebody who has found the port and was not led here.
  my $attempt = delete $arriving{$place} or return;
  $attempt->{client} = $client;
  return settle($attempt) if defined $attempt->{verdict};
  $attempt->{place} = $place;
  $early{$place} = $attempt;
}

# As soon as both are there: the connection, and what was said about it.
sub settle {
  my ($attempt) = @_;
  my ($client, $out, $verdict) = @$attempt{qw(client out verdict)};
  return unless $client && defined $verdict;
  delete $early{$attempt->{place}} if defined $attempt->{place};
  %$attempt = ();
  return relay_apart($client, $out) if $verdict == 0;
  setsockopt($client, SOL_SOCKET, SO_LINGER, pack 'll', 1, 0);
}

# Whoever is asked about them need not answer any more.
sub forget_abandoned {
  for my $inode (keys %held) {
    my $attempt = $held{$inode};
    $attempt->{ids} = [grep { is_valid($_) } @{$attempt->{ids}}];
    forget(delete $held{$inode}) unless @{$attempt->{ids}};
  }
  return unless %early;
  my %owned = owned_ports();
  for my $place (keys %early) {
    my ($port) = split / /, $place;
    forget(delete $early{$place}) unless $owned{$port};
  }
}
sub forget {
  my ($attempt) = @_;
  unwatch($attempt->{out});
  %$attempt = ();
}

# Ports of TCP sockets in the namespace that some program still has open: an end of input alone does not tell.
sub owned_ports {
  my %owned;
  for my $table (qw(tcp tcp6)) {
    open(my $lines, '<', "/proc/self/net/$table") or next;
    while (<$lines>) {
      my (undef, $local, undef, undef, undef, undef, undef, undef, undef, $inode) = split;
      $owned{hex $1} = 1 if $inode && $local =~ /:([0-9A-F]{4})$/;
    }
  }
  return %owned;
}

# Port and address of a socket address that leads elsewhere; nothing for what the kernel may answer by itself.
sub destination {
  my ($address) = @_;
  return unless defined $address && length $address >= 16;
  my $family = unpack 'S', $address;
  return unless $family == AF_INET || $family == AF_INET6 && length $address >= 28;
  my ($port, $host) = unpack $family == AF_INET ? 'x2na4' : 'x2nx4a16', $address;
  my $plain = plain($host);
  return if $plain eq $OWN || $plain =~ /^(?:\x7f...|\x00{4}|\x00{15}[\x00\x01])$/s;
  return if $port == 53 || $port == 0;
  return ($port, $host);
}

# A TCP socket of this family that is not connected, not connecting and not listening.
sub is_fresh {
  my ($socket, $family) = @_;
  my $option = sub { my $value = getsockopt($socket, SOL_SOCKET, $_[0]); defined $value ? unpack 'l', $value : -1 };
  return 0 unless $option->(SO_TYPE) == SOCK_STREAM && $option->($SO_DOMAIN) == $family;
  my $protocol = $option->($SO_PROTOCOL);
  return 1 if $protocol == $MPTCP;
  my $state = getsockopt($socket, $TCP, $TCP_INFO);
  return $protocol == $TCP && defined $state && ord $state == $TCP_CLOSE;
}

sub memory {
  my ($pid, $at, $length) = @_;
  return if $length < 2;
  my $bytes = blank($length);
  my ($here, $there) = (pack('PQ', $bytes, $length), pack('QQ', $at, $length));
  return syscall($number{process_vm_readv}, $pid, $here, 1, $there, 1, 0) == $length ? $bytes : undef;
}

sub copy_of {
  my ($pid, $fd) = @_;
  # PIDFD_THREAD; before Linux 6.9 only a leader of threads has one.
  my $process = syscall($number{pidfd_open}, $pid, 128);
  if ($process < 0) {
    open(my $status, '<', "/proc/$pid/status") or return;
    my ($leader) = map { /^Tgid:\s*(\d+)/ } <$status>;
    $process = syscall($number{pidfd_open}, $leader + 0, 0) if $leader;
  }
  return if $process < 0;
  open(my $handle, '<&=', $process) or return;
  my $copy = syscall($number{pidfd_getfd}, $process, $fd, 0);
  return if $copy < 0;
  open(my $socket, '+<&=', $copy) or return;
  return $socket;
}

sub is_valid {
  my $id = pack 'Q', $_[0];
  return ioctl($notices, $NOTIF_ID_VALID, $id);
}

sub answer {
  my ($id, $errno, $flags) = @_;
  my $answer = pack 'QqlL', $id, 0, -$errno, $flags // 0;
  ioctl($notices, $NOTIF_SEND, $answer);
}

sub asked_for_name {
  my ($socket) = @_;
  my ($query, $from, $control) = receive($socket, MSG_DONTWAIT);
  return if $query eq '';
  my $out = ask(pack 'nCn/a*', 0, 2, $query) or return;
  my $answer = '';
  watch($out, sub {
    my $count = sysread($out, $answer, 4096, length $answer);
    return if $count && (length $answer < 2 || length $answer < 2 + unpack 'n', $answer);
    unwatch($out);
    # With the control message as it came the answer leaves from the address that was asked.
    transmit($socket, substr($answer, 2), $from, $control) if $count;
  });
}

# Bytes, sender and control messages of one datagram.
sub receive {
  my ($socket, $flags) = @_;
  my ($from, $bytes, $control) = (blank(28), blank(4096), blank(64));
  my $where = pack 'PQ', $bytes, length $bytes;
  my $header = pack 'PLx4PQPQLx4', $from, length $from, $where, 1, $control, length $control, 0;
  my $count = syscall($number{recvmsg}, fileno $socket, $header, $flags);
  return ('', '', '') if $count < 0;
  my ($from_length, $control_length) = unpack 'x8Lx4x16x8Q', $header;
  return (substr($bytes, 0, $count), substr($from, 0, $from_length), substr($control, 0, $control_length));
}

sub transmit {
  my ($socket, $bytes, $to, $control) = @_;
  my $where = pack 'PQ', $bytes, length $bytes;
  my $header = pack 'PLx4PQPQLx4', $to, length $to, $where, 1, $control, length $control, 0;
  syscall($number{sendmsg}, fileno $socket, $header, MSG_DONTWAIT);
}

sub listener {
  my ($family, $at) = @_;
  socket(my $listener, $family, SOCK_STREAM, 0) or return;
  setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
  setsockopt($listener, $IPV6, $IPV6_V6ONLY, 1) if $family == AF_INET6;
  bind($listener, $at) && listen($listener, 1024) or return;
  fcntl($listener, $F_SETFL, $O_NONBLOCK) or return;
  return $listener;
}

# Everybody who waits at a listener, with where they come from.
sub arrivals {
  my ($listener) = @_;
  my @arrivals;
  while (my $source = accept(my $client, $listener)) { push @arrivals, [$client, $source] }
  return @arrivals;
}

sub ask {
  my ($question) = @_;
  socket(my $out, PF_UNIX, SOCK_STREAM, 0) or return;
  return connect($out, sockaddr_un($name)) && send_all($out, $question) ? $out : undef;
}

sub verdict {
  my ($out) = @_;
  my $byte = '';
  return sysread($out, $byte, 1) ? ord $byte : $ENETUNREACH;
}

# In a process of its own, which has nothing else open: a copy of somebody's socket would keep it from being closed.
sub relay_apart {
  my ($client, $out) = @_;
  return unless $client && $out;
  my $child = fork;
  return unless defined $child && $child == 0;
  my ($low, $high) = sort { $a <=> $b } fileno $client, fileno $out;
  for my $range ([3, $low - 1], [$low + 1, $high - 1], [$high + 1, 0xffffffff]) {
    my ($from, $to) = @$range;
    next if $from > $to || syscall($number{close_range}, $from, $to, 0) == 0;
    syscall($number{exit_group}, 1);
  }
  relay($client, $out);
  syscall($number{exit_group}, 0);
}

sub watch { my ($handle, $act) = @_; $ready{fileno $handle} = $act }
sub unwatch { my ($handle) = @_; delete $ready{fileno $handle} }
sub blank { return "\0" x $_[0] }
sub anywhere { my ($family, $port) = @_; return $family == AF_INET ? pack_sockaddr_in($port, INADDR_ANY) : pack_sockaddr_in6($port, blank(16)) }
sub port_and_host { my ($at) = @_; return unpack('S', $at) == AF_INET ? unpack_sockaddr_in($at) : unpack_sockaddr_in6($at) }
sub plain { my ($host) = @_; return $host =~ /^\x00{10}\xff\xff(.{4})$/s ? $1 : $host }
sub place { my ($port, $host) = port_and_host($_[0]); return "$port " . plain($host) }
${RELAY}`
