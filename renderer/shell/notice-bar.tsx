/** What the host has to say about itself: a broken rule file, a port in use. Stays until dismissed. */
import { useState, type ReactNode } from 'react'
import { useFeed } from '../feed/feed-context.tsx'
import { IconButton } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Ago } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { selectNotices } from './selectors.ts'
import './notice-bar.css'

const SHOWN_AT_ONCE = 2

export function NoticeBar(): ReactNode {
  const notices = useFeed(selectNotices)
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set())
  const open = notices.filter((notice) => !dismissed.has(notice.id))
  if (open.length === 0) return null
  return (
    <div className="notice-bar" role="region" aria-label="Notices">
      {open.slice(0, SHOWN_AT_ONCE).map((notice) => (
        <div key={notice.id} className={`notice ${notice.level}`} role={notice.level === 'error' ? 'alert' : 'status'}>
          {notice.level !== 'info' && <Icon name="warning" />}
          <div className="notice-text">
            <VisibleText text={notice.message} />
            {notice.detail && (
              <details>
                <summary>Details</summary>
                <pre>
                  <VisibleText code text={notice.detail} />
                </pre>
              </details>
            )}
          </div>
          <span className="meta">
            <Ago atMs={notice.atMs} />
          </span>
          <IconButton
            name={`Dismiss: ${notice.message}`}
            icon="cross"
            title="Dismiss"
            onClick={() => setDismissed((ids) => new Set(ids).add(notice.id))}
          />
        </div>
      ))}
      {open.length > SHOWN_AT_ONCE && (
        <p className="meta notice-more">{open.length - SHOWN_AT_ONCE} more after these</p>
      )}
    </div>
  )
}
