import { constants } from 'node:os'
import { describe, expect, it } from 'vitest'
import { ALLOW, ASK_LISTENER, failWith, KILL_PROCESS } from './bpf.ts'
import { connectFilter } from './connect-filter.ts'
import { systemCallFilter, type SocketReach } from './filter.ts'
import { machineOf, type Machine } from './system-calls.ts'

const EPERM = failWith(constants.errno.EPERM)
const ENOSYS = failWith(constants.errno.ENOSYS)
const I386 = 0x40000003
const SOCKETS: readonly SocketReach[] = ['none', 'internet', 'all']

/** `struct seccomp_data` of one system call. */
interface Call {
  number: number
  architecture: number
  arguments?: readonly (number | bigint)[]
}

function dataOf({ number, architecture, arguments: values = [] }: Call): Buffer {
  const data = Buffer.alloc(64)
  data.writeInt32LE(number | 0, 0)
  data.writeUInt32LE(architecture, 4)
  values.forEach((value, index) => data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + index * 8))
  return data
}

/** Runs the bytes as the kernel does: only the instructions that seccomp allows, and never past the end. */
function verdictOf(filter: Buffer, call: Call): number {
  const data = dataOf(call)
  let accumulator = 0
  for (let at = 0; at < filter.length / 8; at++) {
    const code = filter.readUInt16LE(at * 8)
    const [ifTrue, ifFalse] = [filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3)]
    const value = filter.readUInt32LE(at * 8 + 4)
    const jump = (isTrue: boolean) => (at += isTrue ? ifTrue : ifFalse)
    switch (code) {
      case 0x20:
        if (value % 4 !== 0 || value >= 64) throw new Error(`load from ${value}`)
        accumulator = data.readUInt32LE(value)
        break
      case 0x15:
        jump(accumulator === value)
        break
      case 0x35:
        jump(accumulator >= value)
        break
      case 0x45:
        jump((accumulator & value) !== 0)
        break
      case 0x06:
        return value
      default:
        throw new Error(`instruction ${code} is not one of ours`)
    }
  }
  throw new Error('the program ran over its end')
}

describe.each([
  ['x64', machineOf('x64') as Machine],
  ['arm64', machineOf('arm64') as Machine],
])('the filter for %s', (name, machine) => {
  const verdict = (number: number, values?: Call['arguments'], sockets: SocketReach = 'none') =>
    verdictOf(systemCallFilter(machine, sockets), { number, architecture: machine.architecture, arguments: values })

  it('is a program that the kernel takes', () => {
    for (const sockets of SOCKETS) {
      const filter = systemCallFilter(machine, sockets)
      expect(filter.length % 8).toBe(0)
      // BPF_MAXINSNS
      expect(filter.length / 8).toBeLessThanOrEqual(4096)
    }
  })

  it.each(SOCKETS)('refuses what no command needs, with sockets: %s', (sockets) => {
    for (const [call, number] of Object.entries(machine.forbidden))
      expect({ call, verdict: verdict(number, [], sockets) }).toEqual({ call, verdict: EPERM })
  })

  it('knows every call that the kernel could be talked to with behind our back', () => {
    const names = ['ptrace', 'process_vm_readv', 'process_vm_writev', 'kcmp', 'bpf', 'perf_event_open', 'keyctl']
    names.push('add_key', 'request_key', 'userfaultfd', 'io_uring_setup', 'io_uring_enter', 'io_uring_register')
    names.push('mount', 'umount2', 'pivot_root', 'fsopen', 'fsconfig', 'fsmount', 'fspick', 'open_tree', 'move_mount')
    names.push('setns', 'pidfd_getfd', 'open_by_handle_at', 'mount_setattr', 'chroot')
    expect(Object.keys(machine.forbidden)).toEqual(expect.arrayContaining(names))
  })

  it('lets ordinary calls pass', () => {
    const numbers =
      name === 'x64' ? [0, 1, 2, 9, 39, 42, 57, 59, 61, 202, 231, 257, 334] : [56, 57, 63, 64, 172, 221, 293]
    for (const number of numbers) expect(verdict(number)).toBe(ALLOW)
  })

  it('kills what calls by the numbers of another architecture', () => {
    for (const architecture of [I386, 0, 0xffffffff])
      expect(verdictOf(systemCallFilter(machine, 'all'), { number: 1, architecture })).toBe(KILL_PROCESS)
  })

  it('refuses new namespaces, and lets threads and children pass', () => {
    for (const flags of [
      0x10000000, 0x10000011, 0x00020000, 0x40000000, 0x20000000, 0x08000000, 0x04000000, 0x02000000,
    ]) {
      expect(verdict(machine.clone, [flags])).toBe(EPERM)
      expect(verdict(machine.unshare, [flags])).toBe(EPERM)
      // The kernel looks at the lower half of these flags; so do we.
      expect(verdict(machine.clone, [(1n << 32n) | BigInt(flags)])).toBe(EPERM)
    }
    for (const flags of [0x11, 0x3d0f00, 0x4111, 0x1200011]) expect(verdict(machine.clone, [flags])).toBe(ALLOW)
    expect(verdict(machine.unshare, [0x400])).toBe(ALLOW)
    expect(verdict(machine.clone3, [])).toBe(ENOSYS)
  })

  it('keeps characters out of terminals, whatever stands in the half of the word that nobody reads', () => {
    for (const request of [0x5412, 0x541c])
      for (const upper of [0n, 1n << 32n, 0xffffffffn << 32n])
        expect(verdict(machine.ioctl, [0, BigInt(request) | upper])).toBe(EPERM)
    for (const request of [0x5413, 0x5401, 0x541b]) expect(verdict(machine.ioctl, [0, request])).toBe(ALLOW)
  })

  it.each([
    ['none', []],
    ['internet', [2, 10, 16]],
    ['all', [1, 2, 10, 16]],
  ] as const)('makes sockets only as far as they may reach: %s', (sockets, families) => {
    for (let family = 0; family < 50; family++) {
      const isAllowed = (families as readonly number[]).includes(family)
      expect({ family, verdict: verdict(machine.socket, [family], sockets) }).toEqual({
        family,
        verdict: isAllowed ? ALLOW : EPERM,
      })
      expect(verdict(machine.socket, [(1n << 40n) | BigInt(family)], sockets)).toBe(isAllowed ? ALLOW : EPERM)
      expect(verdict(machine.socketpair, [family], sockets)).toBe(family === 1 ? ALLOW : EPERM)
    }
  })
})

describe.each([
  ['x64', machineOf('x64') as Machine, 42],
  ['arm64', machineOf('arm64') as Machine, 203],
])('the filter that has connections reported, for %s', (_, machine, connect) => {
  it('has them reported and nothing else, and leaves other architectures to the other filter', () => {
    const filter = connectFilter(machine)
    const { architecture } = machine
    for (let number = 0; number < 600; number++)
      expect(verdictOf(filter, { number, architecture })).toBe(number === connect ? ASK_LISTENER : ALLOW)
    expect(verdictOf(filter, { number: connect, architecture: I386 })).toBe(ALLOW)
  })
})

it('the second calling convention of x64 is refused', () => {
  const machine = machineOf('x64') as Machine
  for (const number of [0, 41, 59, 520])
    expect(
      verdictOf(systemCallFilter(machine, 'all'), { number: 0x40000000 | number, architecture: machine.architecture }),
    ).toBe(EPERM)
})

it('there is none for machines whose numbers are not known', () => {
  expect(machineOf('riscv64')).toBeUndefined()
})
