/** Rules as text for a file and as words for people. */
import { formatHostPattern, type HostPattern } from '../protocol/host-pattern.ts'
import type { NetworkProtocol } from '../protocol/subject.ts'
import type { CommandRule, Effect, HostRule, Rule } from './rule.ts'

const COMMAND_DECISION: Record<Effect, string> = { allow: 'allow', ask: 'prompt', deny: 'forbidden' }
const NETWORK_DECISION: Record<Effect, string> = { allow: 'allow', ask: 'prompt', deny: 'deny' }
/** Names as in the files of the Codex CLI, beside ours. */
export const PROTOCOL_NAMES: Record<string, NetworkProtocol> = {
  http: 'http',
  https: 'https',
  https_connect: 'https',
  'http-connect': 'https',
  socks5_tcp: 'socks5Tcp',
  socks5_udp: 'socks5Udp',
  websocket: 'websocket',
}
const PROTOCOL_TEXT: Record<NetworkProtocol, string> = {
  http: 'http',
  https: 'https',
  socks5Tcp: 'socks5_tcp',
  socks5Udp: 'socks5_udp',
  websocket: 'websocket',
}

/** A string literal on one line that any reader of these files takes for the same characters. */
export function quote(text: string): string {
  let out = '"'
  for (const character of text) {
    const code = character.codePointAt(0)!
    if (character === '"' || character === '\\') out += `\\${character}`
    else if (character === '\n') out += '\\n'
    else if (character === '\t') out += '\\t'
    else if (character === '\r') out += '\\r'
    else if (code < 0x20 || code === 0x7f || /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u0080-\u009f]/u.test(character))
      out += code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
    else out += character
  }
  return `${out}"`
}

export function commandRuleText(pattern: string[][], effect: Effect, justification?: string): string {
  const words = pattern.map((word) => (word.length === 1 ? quote(word[0]!) : `[${word.map(quote).join(', ')}]`))
  const why = justification === undefined ? '' : `, justification=${quote(justification)}`
  return `prefix_rule(pattern=[${words.join(', ')}], decision="${COMMAND_DECISION[effect]}"${why})`
}

export interface HostRuleParts {
  host: HostPattern
  port?: number | undefined
  protocol?: NetworkProtocol
  effect: Effect
}
export function hostRuleText({ host, port, protocol, effect }: HostRuleParts): string {
  const parts = [`host=${quote(formatHostPattern(host))}`]
  if (port !== undefined) parts.push(`port=${port}`)
  if (protocol !== undefined) parts.push(`protocol="${PROTOCOL_TEXT[protocol]}"`)
  return `network_rule(${parts.join(', ')}, decision="${NETWORK_DECISION[effect]}")`
}

/** "Allow git status and whatever follows it", "Deny *.example.org on every port". */
export function ruleWords(rule: Rule): string {
  const verb = { allow: 'Allow', ask: 'Ask about', deny: 'Deny' }[rule.effect]
  return rule.kind === 'command' ? `${verb} ${commandWords(rule)}` : `${verb} ${hostWords(rule)}`
}

/** The pattern alone: "git (status | log)". */
export function patternWords(pattern: string[][]): string {
  return pattern
    .map((word) => (word.length === 1 ? showWord(word[0]!) : `(${word.map(showWord).join(' | ')})`))
    .join(' ')
}

const commandWords = (rule: CommandRule): string =>
  `commands that start with ${patternWords(rule.pattern)}, with anything after it`

function hostWords({ host, port, protocol, sessionId, effect }: HostRule): string {
  const where = {
    any: () => (effect === 'allow' ? 'every public host' : 'every host'),
    exact: (name: string) => name,
    below: (name: string) => `every host below ${name}`,
    within: (name: string) => `${name} and every host below it`,
    glob: (name: string) => `every host named like ${name}`,
  }[host.kind](host.kind === 'any' ? '' : host.kind === 'glob' ? host.glob : host.host)
  const ports = port === undefined ? 'on every port' : `on port ${port}`
  const how = protocol === undefined ? '' : ` over ${protocol}`
  return `${where} ${ports}${how}${sessionId === undefined ? '' : ' for this session'}`
}

const showWord = (word: string): string => (/^[\p{L}\p{N}_@%+=:,./~^-]+$/u.test(word) ? word : quote(word))
