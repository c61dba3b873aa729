/** What can go wrong first: getting at the streams, or executing the program. */
export const FAILED_STREAMS = 0
export const FAILED_PROGRAM = 1
/** Beyond the standard streams; more than that nobody hands over. */
export const MAX_INHERITED = 8

/**
 * Starts programs for {@link Spawner} and tells how they end. In perl because what starts programs has to be
 * small: `fork` copies the page tables of whoever calls it, and perl has seven megabytes where the server has
 * fifty to two hundred.
 *
 * On its standard input: 4 bytes of length, then fields with a zero byte between them: id, folder, the paths of
 * stdin, stdout and stderr (stdin empty for none), further descriptors as PATH:DEVICE:INODE with commas between them,
 * the number of arguments, program, arguments, variables. On its standard output lines: `ready`, `started ID PID`,
 * `failed ID ERRNO STAGE`, `ended ID STATUS`. The end of its input means that the server is gone: then
 * it kills the groups of everything that runs.
 *
 * Ends are seen by descriptors of processes (Linux 5.3, the same number on every machine), because a signal
 * can come just before one begins to wait. A program is running when the pipe that its child could
 * tell a failure through has been closed by executing it.
 */
export const SPAWNER_SCRIPT = `
use strict;
use POSIX ();
$0 = 'gatehouse-spawner';
$SIG{PIPE} = 'IGNORE';
# The signals of a terminal that the server was started on do not reach it. No session of its own: that would
# make it a stranger to the scheduler, which gives both their turns sooner when they are one.
setpgrp;

# Whatever the server had open for its other children.
opendir(my $folder, '/proc/self/fd') or exit 3;
my @inherited = grep { /^[0-9]+$/ && $_ > 2 && $_ != fileno $folder } readdir $folder;
closedir $folder;
POSIX::close($_) for @inherited;
# The numbers that commands may find descriptors at are never ours.
my @reserved;
do { open(my $nothing, '<', '/dev/null') or exit 3; push @reserved, $nothing } while (fileno($reserved[-1]) < ${2 + MAX_INHERITED});

sub end_of { my $pid = shift; return syscall(434, $pid + 0, 0) }
my $probe = end_of($$);
exit 3 if $probe < 0;
POSIX::close($probe);

my ($asked, $said, %starting, %living) = ('', "ready\\n");
my $watched = '';
vec($watched, 0, 1) = 1;

sub launch {
  my ($id, $cwd, $stdin, $stdout, $stderr, $others, $count, $program, @rest) = @_;
  my @argv = splice @rest, 0, $count;
  my ($told, $tell);
  my $pid = pipe($told, $tell) ? fork : undef;
  if (!defined $pid) { $said .= "failed $id " . ($! + 0) . " ${FAILED_STREAMS}\\n"; return }
  if ($pid == 0) {
    my $stage = ${FAILED_STREAMS};
    run(\\$stage, $cwd, [$stdin, $stdout, $stderr], [split /,/, $others], $program, \\@argv, \\@rest);
    syswrite $tell, pack('NN', $! + 0, $stage);
    POSIX::_exit(127);
  }
  close $tell;
  my $end = end_of($pid);
  if ($end < 0) {
    my $errno = $! + 0;
    kill 'KILL', $pid;
    waitpid $pid, 0;
    $said .= "failed $id $errno ${FAILED_PROGRAM}\\n";
    return;
  }
  $starting{fileno $told} = [$id, $pid, $end, $told];
  vec($watched, fileno $told, 1) = 1;
}

# Comes back only when something is wrong.
sub run {
  my ($stage, $cwd, $streams, $others, $program, $argv, $variables) = @_;
  $SIG{PIPE} = 'DEFAULT';
  for my $fd (0 .. 2) {
    my $path = $streams->[$fd];
    my $mode = $path eq '' ? POSIX::O_RDWR() : $fd == 0 ? POSIX::O_RDONLY() : POSIX::O_WRONLY();
    POSIX::close($fd);
    my $opened = POSIX::open($path eq '' ? '/dev/null' : $path, $mode);
    return unless defined $opened && $opened == $fd;
  }
  my $fd = 3;
  for my $handed (@$others) {
    my ($path, $device, $inode) = split /:/, $handed;
    open(my $other, '<', $path) or return;
    # Where /proc belongs to other numbers of processes, it would be somebody else's.
    my @found = stat $other;
    return unless @found && $found[0] == $device && $found[1] == $inode;
    POSIX::dup2(fileno $other, $fd++) or return;
  }
  $$stage = ${FAILED_PROGRAM};
  chdir $cwd or return;
  %ENV = ();
  for (@$variables) { my $at = index $_, '='; $ENV{substr $_, 0, $at} = substr $_, $at + 1 }
  # Late: a session is a group of its own for the scheduler, and begins at the end of its queue.
  POSIX::setsid();
  exec { $program } @$argv;
}

sub look_at_starts {
  my $ready = shift;
  for my $fd (keys %starting) {
    next unless vec($ready, $fd, 1);
    my ($id, $pid, $end, $told) = @{delete $starting{$fd}};
    vec($watched, $fd, 1) = 0;
    my $failure = '';
    sysread $told, $failure, 8;
    close $told;
    if (length $failure) {
      waitpid $pid, 0;
      POSIX::close($end);
      my ($errno, $stage) = unpack 'NN', $failure;
      $said .= "failed $id $errno $stage\\n";
    } else {
      $living{$end} = [$id, $pid];
      vec($watched, $end, 1) = 1;
      $said .= "started $id $pid\\n";
    }
  }
}

sub look_at_ends {
  my $ready = shift;
  for my $end (keys %living) {
    next unless vec($ready, $end, 1);
    my ($id, $pid) = @{delete $living{$end}};
    vec($watched, $end, 1) = 0;
    waitpid $pid, 0;
    $said .= "ended $id $?\\n";
    POSIX::close($end);
  }
}

for (;;) {
  if (length $said) {
    defined syswrite(STDOUT, $said) or last;
    $said = '';
  }
  my $ready = $watched;
  next if select($ready, undef, undef, undef) < 0;
  look_at_starts($ready);
  look_at_ends($ready);
  next unless vec($ready, 0, 1);
  sysread(STDIN, $asked, 262144, length $asked) or last;
  while (length $asked >= 4) {
    my $size = unpack 'N', $asked;
    last if length $asked < 4 + $size;
    my @fields = split /\\0/, substr($asked, 4, $size), -1;
    substr($asked, 0, 4 + $size) = '';
    launch(@fields);
    undef $asked, $asked = '' if $size > 262144 && !length $asked;
  }
}
kill 'KILL', $_->[1], -$_->[1] for values %starting, values %living;
POSIX::_exit(0);
`
