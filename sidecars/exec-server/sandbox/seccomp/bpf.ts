/** Classic BPF as the kernel runs it on system calls (seccomp(2), linux/filter.h). */
const LOAD_WORD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_AT_LEAST = 0x35
const JUMP_ANY_BIT = 0x45
const RETURN = 0x06

/** Offsets in `struct seccomp_data`. */
const NUMBER_AT = 0
const ARCHITECTURE_AT = 4
const ARGUMENTS_AT = 16

/** Verdicts of a filter: `SECCOMP_RET_*`. */
export const ALLOW = 0x7fff0000
export const KILL_PROCESS = 0x80000000
/** `SECCOMP_RET_USER_NOTIF`: whoever holds the listener answers. */
export const ASK_LISTENER = 0x7fc00000
export const failWith = (errno: number): number => 0x00050000 | errno

export interface Instruction {
  code: number
  ifTrue: number
  ifFalse: number
  value: number
}

const instruction = (code: number, value: number, ifTrue = 0, ifFalse = 0): Instruction => ({
  code,
  ifTrue,
  ifFalse,
  value,
})

export const loadNumber = (): Instruction => instruction(LOAD_WORD, NUMBER_AT)
export const loadArchitecture = (): Instruction => instruction(LOAD_WORD, ARCHITECTURE_AT)
/** The lower half: every argument we look at is an `int` for the kernel, which ignores the upper one. */
export const loadArgument = (index: number): Instruction => instruction(LOAD_WORD, ARGUMENTS_AT + index * 8)
export const finish = (verdict: number): Instruction => instruction(RETURN, verdict)

/** Runs `body` when the loaded word is `value`; goes on behind it otherwise. */
export const whenEqual = (value: number, body: readonly Instruction[]): Instruction[] => [
  instruction(JUMP_EQUAL, value, 0, bodyLength(body)),
  ...body,
]
export const unlessEqual = (value: number, body: readonly Instruction[]): Instruction[] => [
  instruction(JUMP_EQUAL, value, bodyLength(body), 0),
  ...body,
]
export const whenAtLeast = (value: number, body: readonly Instruction[]): Instruction[] => [
  instruction(JUMP_AT_LEAST, value, 0, bodyLength(body)),
  ...body,
]
export const whenAnyBit = (mask: number, body: readonly Instruction[]): Instruction[] => [
  instruction(JUMP_ANY_BIT, mask, 0, bodyLength(body)),
  ...body,
]

/** A jump has one byte for its distance. */
function bodyLength(body: readonly Instruction[]): number {
  if (body.length > 0xff) throw new RangeError(`a branch of ${body.length} instructions is out of a jump's reach`)
  return body.length
}

/** The program as an array of `struct sock_filter`, little endian like both machines we know. */
export function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(({ code, ifTrue, ifFalse, value }, index) => {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  })
  return bytes
}
