/** A subject in words: what would happen, in one line. */
import type { ApprovalView, Subject } from '../../preload/api.ts'
import { hostAndPort } from '../components/host-name.ts'
import { countOf } from '../components/quantities.ts'
import { quoteCommandLine, shellCallOf } from './command-line.ts'

const PROTOCOL_WORDS = {
  http: 'HTTP',
  https: 'HTTPS',
  socks5Tcp: 'SOCKS5',
  socks5Udp: 'SOCKS5 (UDP)',
  websocket: 'WebSocket',
} as const

export function protocolWords(protocol: keyof typeof PROTOCOL_WORDS): string {
  return PROTOCOL_WORDS[protocol]
}

/** The verb between who and what: "wants to run". */
export function askingWords(subject: Subject): string {
  switch (subject.kind) {
    case 'command':
      return 'wants to run'
    case 'connection':
      return 'wants to reach'
    case 'fileChange':
      return 'wants to change'
    case 'toolUse':
      return 'wants to use its tool'
    case 'elicitation':
      return 'passes on a question'
    case 'question':
      return 'asks you'
  }
}

/** The text of a command as shown and copied: the script of a shell call, else the quoted line. */
export function commandText(argv: readonly string[]): string {
  const call = shellCallOf(argv)
  return call ? call.script : quoteCommandLine(argv)
}

/** The thing itself in one line, whole: `git push --force origin main`, `example.org:443`. */
export function subjectLine(subject: Subject): string {
  switch (subject.kind) {
    case 'command':
      return commandText(subject.argv)
    case 'connection':
      return hostAndPort(subject.host, subject.port)
    case 'fileChange': {
      // The one to look at twice names them all.
      const first = subject.changes.find(({ outsideRoots }) => outsideRoots) ?? subject.changes[0]
      if (!first) return 'no file'
      return subject.changes.length === 1
        ? first.path
        : `${first.path} and ${countOf(subject.changes.length - 1, 'more file')}`
    }
    case 'toolUse': {
      // A path, a command or an address, as far as tools of others go.
      const about = Object.values(Object(subject.input) as object).find((value) => typeof value === 'string')
      return about === undefined ? subject.toolName : `${subject.toolName} ${about}`
    }
    case 'elicitation':
      return subject.message
    case 'question':
      return subject.questions.map(({ question }) => question).join(' ')
  }
}

/** "Claude Code wants to run git push": names a card for screen readers, tray and palette. */
export function requestSentence({ agentName, subject }: Pick<ApprovalView, 'agentName' | 'subject'>): string {
  return `${agentName} ${askingWords(subject)} ${shorten(subjectLine(subject), 400)}`
}

/** One line of at most `length` characters. For names and lists only, never for what is decided on. */
export function shorten(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}
