import { programName } from './shell-wrapper.ts'
import { anyCommandIn, started, type Started, type Words } from './started.ts'

/** ssh(1): options with a value as the next word. */
const WITH_VALUE = /^-[bBcDEeFIiJLlmOopQRSWw]$/
const FLAG = /^-[46AaCfGgKkMNnqsTtVvXxYy]+$/

/** `ssh [options] host words…`: the words become shell text on another machine. Undefined for other programs. */
export function readRemoteShell(words: Words): Started | undefined {
  const [program] = words
  if (program === undefined || !/^(ssh|rsh|mosh|autossh)$/.test(programName(program))) return undefined
  const notes = ['it runs on another machine']
  let at = 1
  for (; at < words.length; at++) {
    const word = words[at]
    if (word === undefined || !word.startsWith('-')) break
    // ProxyCommand, LocalCommand and the like run here.
    if (word.startsWith('-o')) notes.push('an option of it may start a program here')
    if (WITH_VALUE.test(word)) at += 1
    else if (!FLAG.test(word) && !/^-[bBcDEeFIiJLlmOopQRSWw]./.test(word)) break
  }
  const remote = words.slice(at + 1)
  const known = remote.filter((word) => word !== undefined)
  const options = anyCommandIn(words.slice(1, at))
  return started({
    texts: known.length > 0 && known.length === remote.length ? [known.join(' ')] : [],
    hints: [...options, ...(known.length < remote.length ? [known.join(' '), ...anyCommandIn(remote)] : [])],
    notes,
    isTransparent: false,
  })
}
