/** Numbers of system calls, from `asm/unistd_64.h` and `asm-generic/unistd.h`. */
export interface Machine {
  /** `AUDIT_ARCH_*` of linux/audit.h. */
  architecture: number
  /** From here on up numbers belong to another calling convention (x32); absent where there is none. */
  foreignNumbersFrom?: number
  /** Never of use to a command, and each a way to somebody else's memory, to mounts or to the machine. */
  forbidden: Record<string, number>
  clone: number
  clone3: number
  unshare: number
  ioctl: number
  socket: number
  socketpair: number
  /** What it takes to redirect connections: of all of these only connect(2) is a command's. */
  redirecting: Record<RedirectingCall, number>
}

type RedirectingCall =
  | 'connect'
  | 'process_vm_readv'
  | 'recvmsg'
  | 'sendmsg'
  | 'pidfd_open'
  | 'pidfd_getfd'
  | 'close_range'
  | 'seccomp'
  | 'prctl'
  | 'capset'
  | 'exit_group'

/** The same on every machine: they came after the numbers were made common. */
const COMMON = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  mount_setattr: 442,
  quotactl_fd: 443,
  open_tree_attr: 467,
}

const X64: Machine = {
  architecture: 0xc000003e,
  foreignNumbersFrom: 0x40000000,
  forbidden: {
    ...COMMON,
    ptrace: 101,
    syslog: 103,
    uselib: 134,
    vhangup: 153,
    modify_ldt: 154,
    pivot_root: 155,
    chroot: 161,
    acct: 163,
    settimeofday: 164,
    mount: 165,
    umount2: 166,
    swapon: 167,
    swapoff: 168,
    reboot: 169,
    sethostname: 170,
    setdomainname: 171,
    iopl: 172,
    ioperm: 173,
    init_module: 175,
    delete_module: 176,
    quotactl: 179,
    nfsservctl: 180,
    clock_settime: 227,
    kexec_load: 246,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    perf_event_open: 298,
    open_by_handle_at: 304,
    clock_adjtime: 305,
    setns: 308,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    finit_module: 313,
    kexec_file_load: 320,
    bpf: 321,
    userfaultfd: 323,
  },
  clone: 56,
  clone3: 435,
  unshare: 272,
  ioctl: 16,
  socket: 41,
  socketpair: 53,
  redirecting: {
    connect: 42,
    process_vm_readv: 310,
    recvmsg: 47,
    sendmsg: 46,
    pidfd_open: 434,
    pidfd_getfd: 438,
    close_range: 436,
    seccomp: 317,
    prctl: 157,
    capset: 126,
    exit_group: 231,
  },
}

const ARM64: Machine = {
  architecture: 0xc00000b7,
  forbidden: {
    ...COMMON,
    umount2: 39,
    mount: 40,
    pivot_root: 41,
    nfsservctl: 42,
    chroot: 51,
    vhangup: 58,
    quotactl: 60,
    acct: 89,
    kexec_load: 104,
    init_module: 105,
    delete_module: 106,
    clock_settime: 112,
    syslog: 116,
    ptrace: 117,
    reboot: 142,
    sethostname: 161,
    setdomainname: 162,
    settimeofday: 170,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    swapon: 224,
    swapoff: 225,
    perf_event_open: 241,
    open_by_handle_at: 265,
    clock_adjtime: 266,
    setns: 268,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    finit_module: 273,
    bpf: 280,
    userfaultfd: 282,
    kexec_file_load: 294,
  },
  clone: 220,
  clone3: 435,
  unshare: 97,
  ioctl: 29,
  socket: 198,
  socketpair: 199,
  redirecting: {
    connect: 203,
    process_vm_readv: 270,
    recvmsg: 212,
    sendmsg: 211,
    pidfd_open: 434,
    pidfd_getfd: 438,
    close_range: 436,
    seccomp: 277,
    prctl: 167,
    capset: 91,
    exit_group: 94,
  },
}

/** Undefined for machines whose numbers we do not know. */
export function machineOf(nodeArchitecture: string): Machine | undefined {
  return nodeArchitecture === 'x64' ? X64 : nodeArchitecture === 'arm64' ? ARM64 : undefined
}
