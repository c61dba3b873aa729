/** The last requests inside an inspected connection; each opens to its fields. */
import type { ReactNode } from 'react'
import { formatClock } from '../components/quantities.ts'
import { VisibleText } from '../components/visible-text.tsx'
import type { Exchange, Header } from './exchanges.ts'
import './exchange-list.css'

export function ExchangeList({ exchanges }: { exchanges: readonly Exchange[] }): ReactNode {
  return (
    <section aria-label="Requests inside">
      <h3>Requests inside</h3>
      <p className="meta">Newest first; credentials are masked, queries left out.</p>
      <ol className="exchange-list">
        {exchanges.toReversed().map((exchange, i) => (
          <li key={`${exchange.atMs}-${exchanges.length - i}`}>
            <details>
              <summary>
                <ExchangeStatus exchange={exchange} />
                <span className="exchange-method">{exchange.method}</span>
                <span className="truncate">
                  <VisibleText code text={exchange.path} />
                </span>
                <span className="meta">{formatClock(exchange.atMs)}</span>
              </summary>
              <HeaderTable title="Request" headers={exchange.requestHeaders} />
              {exchange.responseHeaders && <HeaderTable title="Response" headers={exchange.responseHeaders} />}
            </details>
          </li>
        ))}
      </ol>
    </section>
  )
}

function ExchangeStatus({ exchange: { status, reason } }: { exchange: Exchange }): ReactNode {
  if (reason !== undefined) return <span className="exchange-status refused">{reason.replaceAll('_', ' ')}</span>
  if (status === undefined) return <span className="exchange-status dim">…</span>
  return <span className={`exchange-status ${status >= 400 ? 'refused' : ''}`}>{status}</span>
}

function HeaderTable({ title, headers }: { title: string; headers: readonly Header[] }): ReactNode {
  return (
    <table className="exchange-headers">
      <caption className="meta">{headers.length === 0 ? `${title}: no fields` : title}</caption>
      <tbody>
        {headers.map(([name, value], i) => (
          <tr key={i}>
            <th scope="row">
              <VisibleText code text={name} />
            </th>
            <td className={value === '[masked]' ? 'dim' : undefined}>
              <VisibleText code text={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
