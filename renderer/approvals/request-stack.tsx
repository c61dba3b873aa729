/** All waiting cards in one column, requests of one session under one header. */
import { useCallback, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { useFeed } from '../feed/feed-context.tsx'
import { Button } from '../components/button.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { place, placeHref } from '../components/places.ts'
import { formatCount } from '../components/quantities.ts'
import { VisibleText } from '../components/visible-text.tsx'
import { shorten } from './subject-words.ts'
import { ApprovalCard, focusCard } from './approval-card.tsx'
import { countCards, firstCards, type CardGroup } from './card-order.ts'
import type { CardOrder } from './use-card-order.ts'
import './request-stack.css'

/** A flood of requests is answered from its oldest end; to draw all of it would only make that slow. */
const CARDS_A_STEP = 50

/** `goToId` is drawn wherever it stands. */
export function RequestStack({ order, goToId }: { order: CardOrder; goToId: string | null }): ReactNode {
  const stack = useRef<HTMLDivElement>(null)
  const [limit, setLimit] = useState(CARDS_A_STEP)
  const groups = useMemo(() => firstCards(order.groups, limit, goToId), [goToId, limit, order.groups])
  const hidden = countCards(order.groups) - countCards(groups)
  const approvals = useFeed((state) => state.tables.approvals)

  const onAnswered = useCallback((requestId: string, hadFocus: boolean) => {
    if (!hadFocus) return
    // Focus goes to the next card as a whole, never to one of its buttons.
    const following = pendingCardIds(stack.current).filter((id) => id !== requestId)
    const next = following.find((id) => isAfter(id, requestId)) ?? following[0]
    if (next === undefined || !focusCard(next)) stack.current?.focus()
  }, [])

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const target = event.target as HTMLElement
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target)) return
    const onCard = target.matches('[data-request]') || target === stack.current
    const step = stepOf(event.key, onCard)
    if (step === 0) return
    event.preventDefault()
    focusNeighbour(stack.current, step)
  }

  return (
    <div
      ref={stack}
      className="request-stack"
      role="region"
      aria-label="Waiting requests"
      tabIndex={-1}
      onKeyDown={onKeyDown}
      {...order.pointerHandlers}
    >
      {groups.map((group) => (
        <section key={`${group.sessionId} ${group.requestIds[0]}`} className="request-group">
          <GroupHead group={group} />
          {group.requestIds.map((id) => {
            const request = approvals.rows.get(id)
            return request && <ApprovalCard key={id} request={request} onBusy={order.onBusy} onAnswered={onAnswered} />
          })}
        </section>
      ))}
      {hidden > 0 && (
        <p className="dim">
          {formatCount(hidden)} more wait. They come up as these are answered.{' '}
          <Button tone="quiet" onClick={() => setLimit(limit + CARDS_A_STEP)}>
            Show more
          </Button>
        </p>
      )}
    </div>
  )
}

function GroupHead({ group }: { group: CardGroup }): ReactNode {
  const session = useFeed((state) => state.tables.sessions.rows.get(group.sessionId))
  const first = useFeed((state) => state.tables.approvals.rows.get(group.requestIds[0] ?? ''))
  const home = useFeed(selectHome)
  const title = session?.title ?? first?.sessionTitle ?? ''
  return (
    <h2 className="request-group-head">
      <VisibleText text={session?.agentName ?? first?.agentName ?? 'Unknown agent'} />
      <span className="dim"> · session </span>
      <a className="link" href={placeHref(place('sessions', group.sessionId))}>
        <VisibleText text={shorten(title || group.sessionId, 60)} />
      </a>
      {session?.cwd && (
        <span className="dim">
          {' · '}
          <VisibleText code text={shortenPath(session.cwd, home)} />
        </span>
      )}
      {group.requestIds.length > 1 && <span className="meta"> · {group.requestIds.length} requests</span>}
    </h2>
  )
}

/** Moves focus to the next (1) or previous (-1) waiting card. Returns false when there is none. */
export function focusNeighbour(root: ParentNode | null, step: 1 | -1): boolean {
  const ids = pendingCardIds(root)
  if (ids.length === 0) return false
  const current = document.activeElement?.closest<HTMLElement>('[data-request]')?.dataset['request']
  const at = current === undefined ? -1 : ids.indexOf(current)
  const next = at < 0 ? (step === 1 ? 0 : ids.length - 1) : (at + step + ids.length) % ids.length
  return focusCard(ids[next] ?? '')
}

function pendingCardIds(root: ParentNode | null): string[] {
  return [...(root?.querySelectorAll<HTMLElement>('[role="article"][data-request]') ?? [])].map(
    (card) => card.dataset['request'] ?? '',
  )
}

function isAfter(id: string, otherId: string): boolean {
  const [card, other] = [id, otherId].map((one) => document.querySelector(`[data-request="${CSS.escape(one)}"]`))
  return Boolean(card && other && other.compareDocumentPosition(card) & Node.DOCUMENT_POSITION_FOLLOWING)
}

/** J and K from anywhere but a field; arrows only from the card itself, since blocks and radios need them. */
function stepOf(key: string, onCard: boolean): 1 | -1 | 0 {
  if (key === 'j' || (onCard && key === 'ArrowDown')) return 1
  if (key === 'k' || (onCard && key === 'ArrowUp')) return -1
  return 0
}

function isTyping(target: HTMLElement): boolean {
  return target.matches('textarea, select, [contenteditable], input:not([type="radio"])')
}
