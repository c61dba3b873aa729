/** One connection: who, what, why, how much; and what to do about the next one like it. */
import { useState, type ReactNode } from 'react'
import type { ConnectionView } from '../../preload/api.ts'
import { protocolWords, shorten } from '../approvals/subject-words.ts'
import { Button, IconButton } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Fact } from '../components/fact.tsx'
import { hostAndPort, hostName } from '../components/host-name.ts'
import { place, placeHref } from '../components/places.ts'
import { formatBytes, formatCount, formatMoment, formatSpan } from '../components/quantities.ts'
import { VisibleText } from '../components/visible-text.tsx'
import { readDetail } from './connection-detail.ts'
import { ConnectionVerdict } from './connection-verdict.tsx'
import { ExchangeList } from './exchange-list.tsx'
import { readExchanges } from './exchanges.ts'
import { reasonWords } from './reason-words.ts'
import { verdictOf } from './selectors.ts'
import type { DecideEgress } from './use-egress-decision.ts'
import { WideRule } from './wide-rule.tsx'
import './connection-inspector.css'

export interface ConnectionInspectorProps {
  connection: ConnectionView
  onDecide: DecideEgress
  onClose: () => void
}

export function ConnectionInspector({ connection, onDecide, onClose }: ConnectionInspectorProps): ReactNode {
  const [wide, setWide] = useState<'allow' | 'deny' | null>(null)
  const { shown, ascii } = hostName(connection.host)
  const address = hostAndPort(connection.host, connection.port)
  const verdict = verdictOf(connection)
  const exchanges = readExchanges(connection.detail)
  const { failure, words, requests } = readDetail(connection.detail)

  return (
    <div
      className="inspector"
      data-region="inspector"
      role="region"
      aria-label={`Connection to ${address}`}
      tabIndex={-1}
    >
      <header className="inspector-head">
        <h2>
          <VisibleText code text={hostAndPort(shown, connection.port)} />
        </h2>
        <CopyButton text={address} label="" name="Copy host and port" />
        <IconButton name="Close the inspector" icon="cross" onClick={onClose} />
      </header>
      <p className="inspector-verdict">
        <ConnectionVerdict connection={connection} />
        {connection.reason && reasonWords(connection.reason)}
      </p>
      {(failure ?? words) !== null && (
        <p className="connection-problem">
          <VisibleText text={failure ?? words ?? ''} />
        </p>
      )}
      <div className="inspector-acts" role="group" aria-label={`What to do about ${address}`}>
        {verdict === 'asked' && connection.requestId ? (
          <a className="button primary" href={placeHref(place('inbox', connection.requestId))}>
            Answer in the Inbox
          </a>
        ) : (
          <>
            {connection.sessionId !== null && verdict !== 'allowed' && (
              <Button
                onClick={() => void onDecide(connection, { verdict: 'allow', scope: 'session', breadth: 'host-port' })}
              >
                Allow for this session
              </Button>
            )}
            {connection.sessionId !== null && verdict === 'allowed' && (
              <Button
                onClick={() => void onDecide(connection, { verdict: 'deny', scope: 'session', breadth: 'host-port' })}
              >
                Deny for this session
              </Button>
            )}
          </>
        )}
        <Button aria-expanded={wide === 'allow'} onClick={() => setWide(wide === 'allow' ? null : 'allow')}>
          Allow always…
        </Button>
        <Button aria-expanded={wide === 'deny'} onClick={() => setWide(wide === 'deny' ? null : 'deny')}>
          Deny always…
        </Button>
      </div>
      {wide && (
        <WideRule
          key={wide}
          connection={connection}
          verdict={wide}
          onSave={(breadth) =>
            void onDecide(connection, { verdict: wide, scope: 'always', breadth }).then((done) => done && setWide(null))
          }
        />
      )}
      {exchanges.length > 0 && <ExchangeList exchanges={exchanges} />}
      <dl className="facts column">
        {ascii && (
          <Fact name="ASCII form">
            <VisibleText code text={ascii} />
          </Fact>
        )}
        <Fact name="over">
          {protocolWords(connection.protocol)}
          {connection.method && ` (${connection.method})`}
        </Fact>
        <Fact name="rule">
          {connection.ruleText ? <VisibleText code text={connection.ruleText} /> : <span className="dim">none</span>}
        </Fact>
        <Fact name="process">
          {connection.processId === null ? (
            <span className="dim">unknown</span>
          ) : (
            <a className="link" href={placeHref(place('processes', connection.processId))}>
              <VisibleText code text={shorten(connection.command ?? connection.processId, 160)} />
            </a>
          )}
          {connection.pid !== null && <span className="dim"> pid {connection.pid}</span>}
        </Fact>
        <Fact name="session">
          {connection.sessionId === null ? (
            <span className="dim">unknown</span>
          ) : (
            <a className="link" href={placeHref(place('sessions', connection.sessionId))}>
              <VisibleText text={shorten(connection.sessionTitle ?? connection.sessionId, 80)} />
            </a>
          )}
        </Fact>
        {connection.address && (
          <Fact name="address">
            <VisibleText code text={connection.address} />
          </Fact>
        )}
        {connection.clientAddress && (
          <Fact name="from">
            <VisibleText code text={connection.clientAddress} />
          </Fact>
        )}
        {requests !== null && <Fact name="requests">{formatCount(requests)}</Fact>}
        <Fact name="opened">{formatMoment(connection.openedAtMs)}</Fact>
        {connection.closedAtMs !== undefined && (
          <Fact name="lasted">{formatSpan(connection.closedAtMs - connection.openedAtMs)}</Fact>
        )}
        <Fact name="received">{formatBytes(connection.bytesIn)}</Fact>
        <Fact name="sent">{formatBytes(connection.bytesOut)}</Fact>
        <Fact name="inspected">{connection.inspected ? 'yes' : 'no: only host and port are known'}</Fact>
      </dl>
    </div>
  )
}
