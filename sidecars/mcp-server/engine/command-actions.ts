/**
 * What a command does, in a word, for views: reads a file, lists, searches. Only plain single commands
 * are told apart; everything else is `unknown` and shown as it is.
 */
import { isAbsolute, join } from 'node:path'
import type { CommandAction } from '../../protocol/app-server/thread-item.ts'

/** Plain words only: no quoting, expansion, redirection or joining. */
const PLAIN = /^[\w./@:+,=-]+(?: +[\w./@:+,=-]+)*$/

export function commandActions(command: string, cwd: string): CommandAction[] {
  const text = command.trim()
  if (!PLAIN.test(text)) return [{ type: 'unknown', command: text }]
  const words = text.split(/ +/)
  const program = words[0]!
  const operands = words.slice(1).filter((word) => !word.startsWith('-'))
  if ((program === 'cat' || program === 'nl') && operands.length === 1)
    return [{ type: 'read', command: text, name: operands[0]!.split('/').at(-1)!, path: absolute(operands[0]!, cwd) }]
  if (program === 'ls' && operands.length <= 1) return [{ type: 'listFiles', command: text, path: operands[0] ?? null }]
  if ((program === 'rg' || program === 'grep') && operands.length >= 1 && operands.length <= 2)
    return [{ type: 'search', command: text, query: operands[0]!, path: operands[1] ?? null }]
  return [{ type: 'unknown', command: text }]
}

const absolute = (path: string, cwd: string): string => (isAbsolute(path) ? path : join(cwd, path))
