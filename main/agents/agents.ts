import { execFile } from 'node:child_process'
import type { AgentView } from '../../preload/api.ts'
import { shellQuote } from '../audit/shell-quote.ts'

/** A program that is slower to tell its version is shown without one. */
const VERSION_TIMEOUT_MS = 3_000
/** Asking again within this gives the answer of before: starting five agents costs seconds. */
const REMEMBERED_MS = 60_000

interface KnownAgent {
  name: string
  program: string
  /** How it names itself when it attaches. */
  attachesAs: RegExp
  /** What connects it, given the words that start our MCP server. */
  howTo: (words: readonly string[]) => string
}

const AGENTS: readonly KnownAgent[] = [
  {
    name: 'Claude Code',
    program: 'claude',
    attachesAs: /claude/i,
    howTo: (words) => `claude mcp add gatehouse -- ${shellQuote(words)}`,
  },
  {
    name: 'Codex CLI',
    program: 'codex',
    attachesAs: /codex/i,
    howTo: (words) => `codex mcp add gatehouse -- ${shellQuote(words)}`,
  },
  {
    name: 'Gemini CLI',
    program: 'gemini',
    attachesAs: /gemini/i,
    howTo: (words) => `gemini mcp add gatehouse ${shellQuote(words)}`,
  },
  {
    name: 'opencode',
    program: 'opencode',
    attachesAs: /opencode/i,
    howTo: (words) =>
      `In opencode.json: "mcp": { "gatehouse": { "type": "local", "command": ${JSON.stringify(words)} } }`,
  },
  {
    name: 'Cursor',
    program: 'cursor-agent',
    attachesAs: /cursor/i,
    howTo: ([command, ...args]) =>
      `In ~/.cursor/mcp.json: { "mcpServers": { "gatehouse": ${JSON.stringify({ command, args })} } }`,
  },
]

export interface AgentsOptions {
  /** The words that start our command line. */
  commandLine: readonly string[]
  /** The file of a program on the owner's search path. */
  findProgram(name: string): string | undefined
  /** Agents that are attached now. */
  attached(): { agentName: string; via: string }[]
}

/** The coding agents that we know how to connect, as they are on this machine. */
export class Agents {
  private readonly versions = new Map<string, { version: Promise<string | null>; atMs: number }>()

  constructor(private readonly options: AgentsOptions) {}

  list(): Promise<AgentView[]> {
    const attached = this.options.attached()
    return Promise.all(
      AGENTS.map(async ({ name, program, attachesAs, howTo }) => {
        const path = this.options.findProgram(program) ?? null
        const own = attached.filter(({ agentName }) => attachesAs.test(agentName))
        return {
          name,
          path,
          version: path === null ? null : await this.versionOf(path),
          connected: [...new Set(own.map(({ via }) => via))],
          howTo: howTo([...this.options.commandLine, 'mcp']),
        }
      }),
    )
  }

  private versionOf(path: string): Promise<string | null> {
    const known = this.versions.get(path)
    if (known && performance.now() - known.atMs < REMEMBERED_MS) return known.version
    const version = askVersion(path)
    this.versions.set(path, { version, atMs: performance.now() })
    return version
  }
}

/** The first thing that looks like a version in what `--version` prints; null when there is none. */
function askVersion(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = execFile(
      path,
      ['--version'],
      { timeout: VERSION_TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 },
      (_error, stdout) => resolve(/\d+\.\d+[\w.+-]*/.exec(stdout)?.[0] ?? null),
    )
    // One that asks something must not wait for an answer.
    child.stdin?.end()
  })
}
