import { connectFilter } from '../seccomp/connect-filter.ts'
import type { Machine } from '../seccomp/system-calls.ts'
import { DOOR } from './redirector-script.ts'

/**
 * Has the kernel tell the redirector of every connect(2) of what runs afterwards, and then becomes that: nothing of it
 * is left but the filter. When anything fails, nothing runs.
 */
const REPORTER = String.raw`
use strict;
use Socket;
my ($numbers, $filter, @command) = @ARGV;
my %number = map { my ($call, $number) = split /=/; ($call => $number + 0) } split /,/, $numbers;
my $give_up = sub { die "gatehouse: connections cannot be redirected ($_[0]: $!)\n" };
socket(my $door, PF_UNIX, SOCK_STREAM, 0) or $give_up->('socket');
connect($door, sockaddr_un("\0${DOOR}")) or $give_up->('connect');
my $program = pack 'H*', $filter;
my $counted = pack 'Sx6P', length($program) / 8, $program;
# PR_SET_NO_NEW_PRIVS, as bwrap will do; SECCOMP_SET_MODE_FILTER with SECCOMP_FILTER_FLAG_NEW_LISTENER
syscall($number{prctl}, 38, 1, 0, 0, 0) == 0 or $give_up->('prctl');
my $notices = syscall($number{seccomp}, 1, 8, $counted);
$notices >= 0 or $give_up->('seccomp');
# SCM_RIGHTS
my ($byte, $control) = ('n', pack 'Qlllx4', 20, 1, 1, $notices);
my $where = pack 'PQ', $byte, 1;
my $header = pack 'x16PQPQLx4', $where, 1, $control, length $control, 0;
syscall($number{sendmsg}, fileno $door, $header, 0) == 1 or $give_up->('sendmsg');
sysread($door, $byte, 1) or $give_up->('the redirector is gone');
exec { $command[0] } @command;
die "$command[0]: $!\n";
`

/** Numbers of system calls as the scripts read them. */
export const numbersOf = ({ redirecting }: Machine): string =>
  Object.entries(redirecting)
    .map(([call, number]) => `${call}=${number}`)
    .join(',')

/** What a command line begins with whose connections are redirected, inside of the namespace of its bridge. */
export function reportingWords(perl: string, machine: Machine): string[] {
  return [perl, '-e', REPORTER, numbersOf(machine), connectFilter(machine).toString('hex')]
}
