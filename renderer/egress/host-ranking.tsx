/** The hosts of the period, most connected first, with their share; press one to narrow the table to it. */
import type { ReactNode } from 'react'
import { hostName } from '../components/host-name.ts'
import { formatCount } from '../components/quantities.ts'
import { VisibleText } from '../components/visible-text.tsx'
import type { HostCount } from './selectors.ts'
import './host-ranking.css'

export interface HostRankingProps {
  hosts: readonly HostCount[]
  chosen: string | null
  onChoose: (host: string | null) => void
}

export function HostRanking({ hosts, chosen, onChoose }: HostRankingProps): ReactNode {
  const most = Math.max(1, hosts[0]?.count ?? 1)
  return (
    <section className="host-ranking" aria-label="Hosts">
      <h2 className="meta">Hosts</h2>
      <ol>
        {hosts.map(({ host, count, blocked }) => (
          <li key={host}>
            <button
              type="button"
              className="host-row"
              aria-pressed={host === chosen}
              title={host}
              onClick={() => onChoose(host === chosen ? null : host)}
            >
              <span className="host-share" aria-hidden="true">
                <span className="share-allowed" style={{ width: `${((count - blocked) / most) * 100}%` }} />
                <span className="share-blocked" style={{ width: `${(blocked / most) * 100}%` }} />
              </span>
              <span className="truncate">
                <VisibleText code text={hostName(host).shown} />
              </span>
              <span className="meta">
                {blocked === 0 ? (
                  formatCount(count)
                ) : (
                  <span className="host-blocked">
                    {formatCount(blocked)} of {formatCount(count)} blocked
                  </span>
                )}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}
