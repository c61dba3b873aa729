/** Projects that bring rules of their own: whether these are in force is the owner's word. */
import { useCallback, useEffect, useState, type ReactNode } from 'react'
import type { ProjectView } from '../../preload/api.ts'
import { Button } from '../components/button.tsx'
import { Chip } from '../components/chip.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { countOf } from '../components/quantities.ts'
import { ErrorNote } from '../components/states.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'

export function ProjectList(): ReactNode {
  const invoke = useInvoke()
  const home = useFeed(selectHome)
  const [projects, setProjects] = useState<readonly ProjectView[]>([])
  const [failure, setFailure] = useState<string | null>(null)

  const refresh = useCallback(() => {
    void invoke('projects.list').then((outcome) => {
      if (outcome.ok) setProjects(outcome.value)
    })
  }, [invoke])
  useEffect(refresh, [refresh])

  const decide = (root: string, trust: 'trusted' | 'untrusted'): void => {
    void invoke('projects.trust', root, trust).then((outcome) => {
      setFailure(outcome.ok ? null : outcome.message)
      refresh()
    })
  }
  if (projects.length === 0) return null
  return (
    <section className="rule-projects" aria-labelledby="rule-projects-title">
      <h2 id="rule-projects-title">Projects with rules</h2>
      <p className="dim">
        An agent can write into a project. Its rules hold below its folder, and only while you trust them.
      </p>
      {failure && <ErrorNote message={failure} />}
      <ul>
        {projects.map(({ root, trust, files }) => {
          const name = shortenPath(root, home)
          return (
            <li key={root} className="rule-project">
              <Chip {...(trust === 'trusted' ? { tone: 'allow', icon: 'check' } : {})}>
                {trust === 'trusted' ? 'in force' : 'not in force'}
              </Chip>
              <span>
                <VisibleText code text={name} />{' '}
                <span className="meta">{files.length === 0 ? 'no file of rules' : countOf(files.length, 'file')}</span>
              </span>
              {trust === 'trusted' ? (
                <Button tone="quiet" aria-label={`Stop trusting ${name}`} onClick={() => decide(root, 'untrusted')}>
                  Stop trusting
                </Button>
              ) : (
                <Button aria-label={`Trust the rules of ${name}`} onClick={() => decide(root, 'trusted')}>
                  Trust its rules
                </Button>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
