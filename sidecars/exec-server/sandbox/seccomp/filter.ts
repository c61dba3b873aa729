import { constants } from 'node:os'
import {
  ALLOW,
  assemble,
  failWith,
  finish,
  KILL_PROCESS,
  loadArchitecture,
  loadArgument,
  loadNumber,
  unlessEqual,
  whenAnyBit,
  whenAtLeast,
  whenEqual,
  type Instruction,
} from './bpf.ts'
import type { Machine } from './system-calls.ts'

/**
 * Which sockets a command may make. `none`: only pairs, which lead nowhere. `internet`: IP, for a network
 * namespace that leads to the proxy only. `all`: also Unix sockets, for commands with an open network.
 */
export type SocketReach = 'none' | 'internet' | 'all'

const REFUSED = finish(failWith(constants.errno.EPERM))
/** As on an old kernel: the C library then falls back to `clone`, whose flags can be looked at. */
const UNKNOWN = finish(failWith(constants.errno.ENOSYS))
const ALLOWED = finish(ALLOW)

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h. */
const NEW_NAMESPACES = 0x7e020000
/** Put characters into somebody's terminal: TIOCSTI and TIOCLINUX of asm-generic/ioctls.h. */
const TYPING_IOCTLS = [0x5412, 0x541c]
/** linux/socket.h */
const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16

const FAMILIES: Record<SocketReach, readonly number[]> = {
  none: [],
  internet: [AF_INET, AF_INET6, AF_NETLINK],
  all: [AF_INET, AF_INET6, AF_NETLINK, AF_UNIX],
}

/**
 * The filter that a sandboxed command runs under, as the kernel takes it. System calls of another
 * architecture end the process: their numbers mean other calls.
 */
export function systemCallFilter(machine: Machine, sockets: SocketReach): Buffer {
  const { clone, clone3, unshare, ioctl, socket, socketpair } = machine
  const program: Instruction[] = [
    loadArchitecture(),
    ...unlessEqual(machine.architecture, [finish(KILL_PROCESS)]),
    loadNumber(),
    ...(machine.foreignNumbersFrom === undefined ? [] : whenAtLeast(machine.foreignNumbersFrom, [REFUSED])),
    ...Object.values(machine.forbidden).flatMap((number) => whenEqual(number, [REFUSED])),
    ...whenEqual(clone3, [UNKNOWN]),
    ...[clone, unshare].flatMap((number) =>
      whenEqual(number, [loadArgument(0), ...whenAnyBit(NEW_NAMESPACES, [REFUSED]), ALLOWED]),
    ),
    ...whenEqual(ioctl, [
      loadArgument(1),
      ...TYPING_IOCTLS.flatMap((request) => whenEqual(request, [REFUSED])),
      ALLOWED,
    ]),
    ...whenEqual(socket, [loadArgument(0), ...onlyThese(FAMILIES[sockets])]),
    ...whenEqual(socketpair, [loadArgument(0), ...onlyThese([AF_UNIX])]),
    ALLOWED,
  ]
  return assemble(program)
}

const onlyThese = (values: readonly number[]): Instruction[] => [
  ...values.flatMap((value) => whenEqual(value, [ALLOWED])),
  REFUSED,
]
