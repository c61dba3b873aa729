import { RELAY } from '../relay-script.ts'

/** The abstract Unix socket, seen in its network namespace only, at which the script waits for the notices. */
export const DOOR = 'gatehouse-redirector'

/** What it begins a connection of its own with, behind a port of 0: see {@link Redirection.serve}. */
export const KIND = { stream: 1, names: 2 } as const

/**
 * Stands in for the listener of a proxy bridge, with the same arguments but one more (numbers of system calls,
 * `name=number,...`), and beside it answers for the kernel when a program connects (seccomp_unotify(2)): a stream to
 * elsewhere is connected to a listener in the namespace, and from there by way of the Unix socket. Every address is
 * made one of the namespace, so that names can be asked for wherever a program does, and nothing gets a way out by it:
 * there is no device but the loopback. When it ends, connecting fails.
 *
 * The other side says what becomes of a connection: 0 or an error number, in one byte. Whoever waits in connect(2) gets
 * it as the answer. Whoever does not wait is connecting until then: their SYN goes to a listener that never answers it.
 * A 0 is a SYN that crosses theirs (RFC 9293, section 3.5), an error a reset, which is "connection refused".
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
my ($IP, $IP_PKTINFO) = (0, 8);
my ($IPV6, $IPV6_V6ONLY, $IPV6_RECVPKTINFO, $IPV6_PKTINFO, $IPV6_FREEBIND) = (41, 26, 49, 50, 78);
my ($SO_REUSEPORT, $SO_ATTACH_FILTER, $SO_PROTOCOL, $SO_DOMAIN) = (15, 26, 38, 39);
my ($TCP, $MPTCP, $TCP_INFO, $TCP_SYN_SENT, $TCP_CLOSE) = (6, 262, 11, 2, 7);
# fcntl.h
my ($F_GETFL, $F_SETFL, $O_NONBLOCK) = (3, 4, 2048);
# linux/seccomp.h; the last one in its first spelling, which every kernel knows.
my ($NOTIF_RECV, $NOTIF_SEND, $NOTIF_ID_VALID, $CONTINUE) = (0xc0502100, 0xc0182101, 0x80082102, 1);
# Of addresses that nobody has; the others of 198.18.0.0/15 stand for names.
my $OWN = pack 'C4', 198, 18, 0, 1;

# What is to be done when something can be read, by descriptor.
my %ready;
# Attempts that a program waits in, by the inode of its socket.
my %held;
# By line: ways out for connections on their way here, and attempts of programs that do not wait.
my (%arriving, %connecting);
# When sockets, by inode, were connected last, and with what answer: a signal may have come before it, and then the call
# is made anew.
my %answered;
my $looked = 0;
# By family: ports to which connections are led at once, and that of SYNs without an answer; who sees and answers those.
my (%gate, %limbo, %raw);
# From where the kernel tells of connect(2).
my $notices;

open_network();
for my $port (@ports) {
  my $listener = listener(AF_INET, pack_sockaddr_in($port, INADDR_LOOPBACK)) or die "port $port: $!\n";
  watch($listener, sub { relay_apart($_, ask(pack 'n', $port)) for map { $$_[0] } arrivals($listener) });
}
for my $family (AF_INET, AF_INET6) {
  my $gate = listener($family, anywhere($family, 0)) or next;
  ($gate{$family}) = port_and_host(getsockname $gate);
  # Without a way out: somebody who has found the port and was not led here.
  watch($gate, sub { relay_apart($$_[0], delete $arriving{line($$_[1], getsockname $$_[0])}) for arrivals($gate) });
  open_limbo($family);
  my $streams = listener($family, anywhere($family, 53)) or die "port 53: $!\n";
  watch($streams, sub { relay_apart($_, ask(pack 'nC', 0, 2)) for map { $$_[0] } arrivals($streams) });
  socket(my $datagrams, $family, SOCK_DGRAM, 0) or die "socket: $!\n";
  only_ipv6($datagrams) if $family == AF_INET6;
  tell_destination($datagrams, $family);
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
  my $count = select($bits, undef, undef, %held || %connecting ? 0.5 : undef);
  if ($count > 0) {
    my %now = %ready;
    for my $fd (grep { vec($bits, $_, 1) } keys %now) {
      # The one before may have closed it, and another may have its number now.
      $now{$fd}->() if defined $ready{$fd} && $ready{$fd} == $now{$fd};
    }
  }
  if ((%held || %connecting) && time != $looked) { $looked = time; forget_abandoned() }
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
  # How often a SYN is sent again, with up to two minutes in between: a question may take its time.
  if (open(my $retries, '>', '/proc/sys/net/ipv4/tcp_syn_retries')) { syswrite $retries, '12' }
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
  my $protocol = fresh($socket, $family);
  if (!$protocol) {
    my $errno = answer_again($inode, $socket);
    return defined $errno ? answer($id, $errno) : answer($id, 0, $CONTINUE);
  }
  my $plain = plain($host);
  my $kind = kind($plain);
  return answer($id, $ENETUNREACH) unless $gate{$kind};
  my $question = pack 'nCC/a*n', 0, 1, $plain, $port;
  # A multipath connection loses its first byte when SYNs cross: it has to wait, whether it wants to or not.
  if ($protocol == $TCP && fcntl($socket, $F_GETFL, 0) & $O_NONBLOCK) { connect_meanwhile($id, $socket, $inode, $host, $question) }
  else { connect_when_answered($id, $socket, $inode, socket_address($gate{$kind}, $host), $question) }
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
      $errno = connect($socket, $to) ? 0 : $! + 0;
      $arriving{line(getsockname $socket, $to)} = $out if $errno == 0 || $errno == $EINPROGRESS;
    }
    remember($inode, $errno) if @ids;
    answer($_, $errno) for @ids;
    %$attempt = ();
  });
}

sub connect_meanwhile {
  my ($id, $socket, $inode, $host, $question) = @_;
  my $to = socket_address($limbo{kind(plain($host))}, $host);
  my $errno = connect($socket, $to) ? 0 : $! + 0;
  if ($errno == $EINPROGRESS) {
    my $source = getsockname $socket;
    my $line = line($source, $to);
    my $out = ask($question);
    # One before may have had this line, and gone.
    forget(delete $connecting{$line});
    my $attempt = $connecting{$line} = { out => $out, line => $line, source => $source, host => plain($host) };
    if ($out) { watch($out, sub { $attempt->{verdict} = verdict($out); unwatch($out); settle($attempt) }) }
    else { $attempt->{verdict} = $ENETUNREACH }
    remember($inode, $errno);
  }
  close $socket;
  answer($id, $errno);
}

sub remember {
  my ($inode, $errno) = @_;
  delete @answered{grep { $answered{$_}[0] < time - 1 } keys %answered};
  $answered{$inode} = [time, $errno];
}
sub answer_again {
  my ($inode, $socket) = @_;
  my ($then, $errno) = @{$answered{$inode} // [0]};
  return if $then < time - 1;
  return $errno if $errno == 0;
  # When it has been connected since, the kernel says so.
  return $errno == $EINPROGRESS && state($socket) == $TCP_SYN_SENT ? $errno : undef;
}

# With REUSEPORT, so that answers can leave from its port.
sub open_limbo {
  my ($family) = @_;
  socket(my $limbo, $family, SOCK_STREAM, 0) or die "socket: $!\n";
  setsockopt($limbo, SOL_SOCKET, $SO_REUSEPORT, 1) or die "reuseport: $!\n";
  only_ipv6($limbo) if $family == AF_INET6;
  # Returns 0: what comes is dropped.
  attach($limbo, 6, 0, 0, 0);
  bind($limbo, anywhere($family, 0)) && listen($limbo, 1) or die "limbo: $!\n";
  ($limbo{$family}) = port_and_host(getsockname $limbo);
  socket(my $raw, $family, SOCK_RAW, $TCP) or die "raw: $!\n";
  only_ipv6($raw) if $family == AF_INET6;
  tell_destination($raw, $family);
  # X is where the header of TCP begins; then: to that port, and of SYN, RST, FIN and ACK only the first.
  my @start = $family == AF_INET ? (0xb1, 0, 0, 0) : (0x01, 0, 0, 0);
  attach($raw, @start, 0x48, 0, 0, 2, 0x15, 0, 4, $limbo{$family}, 0x50, 0, 0, 13, 0x54, 0, 0, 0x17, 0x15, 0, 1, 2, 6, 0, 0, 0xffff, 6, 0, 0, 0);
  $raw{$family} = [$raw, $limbo];
  watch($raw, sub {
    for (;;) {
      my ($packet, $from, $control) = receive($raw, MSG_DONTWAIT);
      last if $packet eq '';
      my $header = $family == AF_INET ? (ord($packet) & 15) * 4 : 0;
      next if length $packet < $header + 20;
      my ($port, $sequence) = unpack 'nx2N', substr $packet, $header;
      my $to = $family == AF_INET ? substr($control, 24, 4) : substr($control, 16, 16);
      my $attempt = $connecting{line_of($port, (port_and_host($from))[1], $to)} or next;
      $attempt->{sequence} = $sequence;
      settle($attempt);
    }
  });
}

# As soon as it was said what becomes of it and, for a refusal, its SYN was seen.
sub settle {
  my ($attempt) = @_;
  my ($out, $line, $host, $source, $verdict, $sequence) = @$attempt{qw(out line host source verdict sequence)};
  return unless defined $verdict && ($verdict == 0 || defined $sequence);
  delete $connecting{$line};
  my $family = kind($host);
  my ($port, $own) = port_and_host($source);
  return refuse($family, $host, plain($own), $port, $sequence) if $verdict != 0;
  socket(my $here, $family, SOCK_STREAM, 0) or return;
  setsockopt($here, SOL_SOCKET, $SO_REUSEPORT, 1);
  setsockopt($here, $IPV6, $IPV6_FREEBIND, 1) if $family == AF_INET6;
  # Fails when the program has gone.
  bind($here, socket_address($limbo{$family}, $host)) && connect($here, socket_address($port, plain($own))) or return;
  relay_apart($here, $out);
}

# RST and ACK of the SYN, as a port without a listener sends it.
sub refuse {
  my ($family, $from, $to, $port, $sequence) = @_;
  my $segment = pack 'nnNNCCnnn', $limbo{$family}, $port, 0, ($sequence + 1) & 0xffffffff, 0x50, 0x14, 0, 0, 0;
  my $sum = 0;
  $sum += $_ for unpack 'n*', $from . $to . pack('nn', $TCP, length $segment) . $segment;
  $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
  substr($segment, 16, 2) = pack 'n', ~$sum & 0xffff;
  my $control = $family == AF_INET ? pack('Qlll a4a4x4', 28, $IP, $IP_PKTINFO, 1, $from, $from) : pack('Qlla16Lx4', 36, $IPV6, $IPV6_PKTINFO, $from, 1);
  transmit($raw{$family}[0], $segment, socket_address(0, $to), $control);
}

# Whoever is asked about them need not answer any more.
sub forget_abandoned {
  for my $inode (keys %held) {
    my $attempt = $held{$inode};
    $attempt->{ids} = [grep { is_valid($_) } @{$attempt->{ids}}];
    forget(delete $held{$inode}) unless @{$attempt->{ids}};
  }
  return unless %connecting;
  my %open = open_lines() or return;
  for my $line (keys %connecting) {
    my $attempt = $connecting{$line};
    # The tables leave one out now and then while many come and go.
    $attempt->{missed} = $open{$line} ? 0 : ($attempt->{missed} // 0) + 1;
    forget(delete $connecting{$line}) if $attempt->{missed} > 2;
  }
}
sub forget {
  my ($attempt) = @_;
  unwatch($attempt->{out}) if $attempt && $attempt->{out};
}

# The lines of TCP sockets in the namespace that some program has open (proc_pid_net(5)); none at all where that is not told.
sub open_lines {
  my %open;
  for my $table (qw(tcp tcp6)) {
    open(my $rows, '<', "/proc/self/net/$table") or next;
    while (my $row = <$rows>) {
      my ($local, $remote, $inode) = (split ' ', $row)[1, 2, 9];
      next unless $inode && $local =~ /^[0-9A-F]+:[0-9A-F]{4}$/;
      my ($own, $host) = map { pack 'L*', map { hex } unpack '(A8)*', (split /:/)[0] } $local, $remote;
      $open{line_of(hex substr($local, -4), $own, $host)} = 1;
    }
  }
  return %open;
}

# Port and address of a socket address that leads elsewhere; nothing for what the kernel may answer by itself. What it
# then reads may be another address: it is in this namespace, too.
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

# The protocol of a TCP socket of this family that is not connected, not connecting and not listening.
sub fresh {
  my ($socket, $family) = @_;
  my $option = sub { my $value = getsockopt($socket, SOL_SOCKET, $_[0]); defined $value ? unpack 'l', $value : -1 };
  return 0 unless $option->(SO_TYPE) == SOCK_STREAM && $option->($SO_DOMAIN) == $family;
  my $protocol = $option->($SO_PROTOCOL);
  return $protocol if $protocol == $MPTCP;
  return $protocol == $TCP && state($socket) == $TCP_CLOSE ? $protocol : 0;
}
sub state {
  my ($socket) = @_;
  my $info = getsockopt($socket, $TCP, $TCP_INFO);
  return defined $info ? ord $info : 0;
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
  only_ipv6($listener) if $family == AF_INET6;
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
# And from addresses that are ours by the route only.
sub only_ipv6 {
  my ($socket) = @_;
  setsockopt($socket, $IPV6, $IPV6_V6ONLY, 1);
  setsockopt($socket, $IPV6, $IPV6_FREEBIND, 1);
}
# The control messages of what is received, or sent, name the address that it was, or will be, meant for.
sub tell_destination {
  my ($socket, $family) = @_;
  my ($level, $option) = $family == AF_INET ? ($IP, $IP_PKTINFO) : ($IPV6, $IPV6_RECVPKTINFO);
  setsockopt($socket, $level, $option, 1) or die "pktinfo: $!\n";
}
sub attach {
  my ($socket, @instructions) = @_;
  my $program = pack '(SCCL)*', @instructions;
  setsockopt($socket, SOL_SOCKET, $SO_ATTACH_FILTER, pack 'Sx6P', @instructions / 4, $program) or die "filter: $!\n";
}
sub kind { my ($plain) = @_; return length $plain == 4 ? AF_INET : AF_INET6 }
sub socket_address { my ($port, $host) = @_; return length $host == 4 ? pack_sockaddr_in($port, $host) : pack_sockaddr_in6($port, $host) }
sub anywhere { my ($family, $port) = @_; return $family == AF_INET ? pack_sockaddr_in($port, INADDR_ANY) : pack_sockaddr_in6($port, blank(16)) }
sub port_and_host { my ($at) = @_; return (unpack('S', $at) == AF_INET ? unpack_sockaddr_in($at) : unpack_sockaddr_in6($at))[0, 1] }
sub plain { my ($host) = @_; return $host =~ /^\x00{10}\xff\xff(.{4})$/s ? $1 : $host }
# What tells one connection from all others here: two of one source port may lead to different hosts.
sub line_of { my ($port, $own, $host) = @_; return "$port " . plain($own) . plain($host) }
sub line { my ($source, $to) = @_; return line_of(port_and_host($source), (port_and_host($to))[1]) }
${RELAY}`
