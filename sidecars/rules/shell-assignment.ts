import type { Node } from 'web-tree-sitter'
import { isHarmlessVariable } from './harmless-environment.ts'
import { staticWord } from './shell-word.ts'

/** Name of the variable and its value, when that is known and not added to another. */
export function readAssignment(assignment: Node): [name: string, value: string | undefined] {
  const value = assignment.childForFieldName('value')
  const isPlain = assignment.children.some((child) => child?.type === '=')
  const text = value ? staticWord(value) : ''
  return [assignment.childForFieldName('name')?.text ?? '', isPlain ? text : undefined]
}

/** Whether no program does anything else with the variable set like that. */
export function isHarmlessAssignment(assignment: Node): boolean {
  const [name, value] = readAssignment(assignment)
  return value !== undefined && isHarmlessVariable(name, value)
}
