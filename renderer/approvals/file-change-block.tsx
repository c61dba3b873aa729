/** The files that would change, those outside the workspace first, each with its diff. */
import type { ReactNode } from 'react'
import type { Subject } from '../../preload/api.ts'
import { Chip } from '../components/chip.tsx'
import { findHiddenCharacters } from '../components/hidden-characters.ts'
import { drawSlice, VisibleText } from '../components/visible-text.tsx'
import './file-change-block.css'

type FileChange = Extract<Subject, { kind: 'fileChange' }>['changes'][number]

const KIND_WORDS = { add: 'new', update: 'changed', delete: 'deleted', move: 'moved' } as const

export function FileChangeBlock({ changes }: { changes: readonly FileChange[] }): ReactNode {
  const ordered = [...changes].sort((a, b) => Number(b.outsideRoots) - Number(a.outsideRoots))
  return (
    <ul className="file-changes" aria-label="Files">
      {ordered.map((change) => (
        <li key={`${change.kind} ${change.path}`}>
          <div className="file-change-head">
            <Chip tone={change.kind === 'delete' ? 'deny' : 'neutral'}>{KIND_WORDS[change.kind]}</Chip>
            <VisibleText code text={change.path} />
            {change.namedPath !== undefined && (
              <span className="dim">
                asked for as <VisibleText code text={change.namedPath} />
              </span>
            )}
            {change.movedTo !== undefined && (
              <>
                {' to '}
                <VisibleText code text={change.movedTo} />
              </>
            )}
            {change.outsideRoots && <Chip tone="warn">outside the workspace</Chip>}
          </div>
          {change.diff === undefined ? (
            <p className="dim">
              Not text: the content cannot be shown{change.contentHash && `, SHA-256 ${change.contentHash}`}.
            </p>
          ) : (
            <Diff text={change.diff} path={change.path} />
          )}
        </li>
      ))}
    </ul>
  )
}

/** One file's diff, or its whole content. */
export function Diff({ text, path }: { text: string; path: string }): ReactNode {
  // The end of the last line begins no line of its own.
  const lines = text.replace(/\n$/, '').split('\n')
  return (
    <div className="diff" role="group" aria-label={`Changes in ${path}`} tabIndex={0}>
      {lines.map((line, index) => (
        <div key={index} className={`diff-line ${diffKind(line)}`} dir="ltr">
          {drawSlice(line, findHiddenCharacters(line, { allowLineBreaksAndTabs: true }), 0, line.length)}
        </div>
      ))}
    </div>
  )
}

function diffKind(line: string): string {
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : ''
}
