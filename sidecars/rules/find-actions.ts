import { programName } from './shell-wrapper.ts'
import { started, type Started, type Words } from './started.ts'

const ACTION = /^-(exec|execdir|ok|okdir)$/

/** What `find` starts with -exec and its kind; undefined when it starts nothing. */
export function readFindActions(words: Words): Started | undefined {
  const [program] = words
  if (program === undefined || !/^(find|gfind|bfs)$/.test(programName(program))) return undefined
  const programs: Words[] = []
  for (let at = 1; at < words.length; at++) {
    const word = words[at]
    if (word === undefined || !ACTION.test(word)) continue
    const rest = words.slice(at + 1)
    const end = rest.findIndex((part, i) => part === ';' || (part === '+' && rest[i - 1] === '{}'))
    const action = end < 0 ? rest : rest.slice(0, end)
    if (action.length > 0) programs.push(action)
  }
  if (programs.length === 0) return undefined
  return started({ programs, notes: ['find starts it for files that cannot be seen here'], isTransparent: false })
}
