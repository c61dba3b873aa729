/** Where and how a command would run, in one line of facts. */
import type { ReactNode } from 'react'
import type { Subject } from '../../preload/api.ts'
import { useFeed } from '../feed/feed-context.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { Fact } from '../components/fact.tsx'
import { VisibleText } from '../components/visible-text.tsx'

type CommandSubject = Extract<Subject, { kind: 'command' }>

const STDIN_WORDS = { none: 'none', pipe: 'a pipe', tty: 'a terminal' } as const
const SANDBOX_WORDS = {
  none: 'none (full rights of your account)',
  'read-only': 'read only',
  'workspace-write': 'may write in the workspace',
  external: 'made by the agent',
} as const

/** Variables that change which code runs; they are listed first. */
const STEERING =
  /^(?:PATH|LD_|DYLD_|BASH_ENV|ENV$|NODE_OPTIONS|PYTHON|PERL5|RUBY|GIT_|.*_PROXY$|.*_proxy$|HOME$|IFS$|SHELL$)/

export function CommandFacts({ subject }: { subject: CommandSubject }): ReactNode {
  const home = useFeed(selectHome)
  return (
    <dl className="facts">
      <Fact name="in">
        <VisibleText code text={shortenPath(subject.cwd, home)} />
      </Fact>
      <Fact name="environment">
        <EnvironmentChanges changes={subject.envChanges} />
      </Fact>
      <Fact name="stdin">{STDIN_WORDS[subject.stdin]}</Fact>
      <Fact name="sandbox">{SANDBOX_WORDS[subject.sandbox]}</Fact>
      {subject.arg0 !== undefined && (
        <Fact name="calls itself">
          <VisibleText code text={subject.arg0} />
        </Fact>
      )}
    </dl>
  )
}

function EnvironmentChanges({ changes }: { changes: Record<string, string | null> }): ReactNode {
  const names = Object.keys(changes).sort(
    (a, b) => Number(STEERING.test(b)) - Number(STEERING.test(a)) || (a < b ? -1 : 1),
  )
  if (names.length === 0) return 'unchanged'
  return (
    <ul className="environment-changes">
      {names.map((name) => {
        const value = changes[name]
        const text = value === null || value === undefined ? `−${name}` : `+${name}=${value}`
        return (
          <li key={name} className={STEERING.test(name) ? 'steering' : undefined}>
            <VisibleText code text={text} />
          </li>
        )
      })}
    </ul>
  )
}
