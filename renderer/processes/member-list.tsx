/** The tree of a process: who runs, under whom, with what. */
import type { ReactNode } from 'react'
import type { MemberView } from '../../preload/api.ts'
import { Chip } from '../components/chip.tsx'
import { formatBytes, formatSpan } from '../components/quantities.ts'
import { VisibleText } from '../components/visible-text.tsx'
import { memberRows } from './member-tree.ts'
import './member-list.css'

export function MemberList({ members }: { members: readonly MemberView[] }): ReactNode {
  return (
    <ul className="member-list" aria-label="Process tree">
      {memberRows(members).map(({ member, depth }) => (
        <li key={member.pid} style={{ paddingLeft: depth * 16 }}>
          <span className="member-name">
            {depth > 0 && <span aria-hidden="true">└ </span>}
            <VisibleText code text={member.name} /> <span className="meta">{member.pid}</span>
            {!member.ownGroup && (
              <span title="It left the group of the process. Signals from here reach it all the same.">
                <Chip tone="warn">left the group</Chip>
              </span>
            )}
          </span>
          <span className="meta">
            CPU {formatSpan(member.cpuMs)} · {formatBytes(member.rssBytes)}
          </span>
        </li>
      ))}
    </ul>
  )
}
