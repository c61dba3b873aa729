/** Members of a tool call's arguments; a wrong type is told to the model in its own words. */
import { ToolFailure } from './tool-call.ts'

type Arguments = Record<string, unknown>

function read<T>(args: Arguments, name: string, expected: string, is: (value: unknown) => value is T): T | undefined {
  const value = args[name]
  if (value === undefined || value === null) return undefined
  if (is(value)) return value
  throw new ToolFailure(`failed to parse function arguments: invalid type for \`${name}\`, expected ${expected}`)
}

export const readText = (args: Arguments, name: string): string | undefined =>
  read(args, name, 'a string', (v): v is string => typeof v === 'string')

export const readNumber = (args: Arguments, name: string): number | undefined =>
  read(args, name, 'a number', (v): v is number => typeof v === 'number' && Number.isFinite(v))

export const readBoolean = (args: Arguments, name: string): boolean | undefined =>
  read(args, name, 'a boolean', (v): v is boolean => typeof v === 'boolean')

export const readTexts = (args: Arguments, name: string): string[] | undefined =>
  read(args, name, 'a list of strings', (v): v is string[] => Array.isArray(v) && v.every((x) => typeof x === 'string'))

/** @throws ToolFailure when it is missing */
export function needText(args: Arguments, name: string): string {
  const value = readText(args, name)
  if (value === undefined) throw new ToolFailure(`failed to parse function arguments: missing field \`${name}\``)
  return value
}
