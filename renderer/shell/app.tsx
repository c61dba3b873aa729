/** The window: rail, page, status bar, and what lies over them. */
import { useCallback, useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { AgentsPage } from '../agents/agents-page.tsx'
import { ApprovalAnnouncer } from '../approvals/approval-announcer.tsx'
import { InboxPage } from '../approvals/inbox-page.tsx'
import { ActionsProvider } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { go, place, placeHref, SECTION_NAMES, usePlace, type Place } from '../components/places.ts'
import { ErrorNote, SkeletonRows } from '../components/states.tsx'
import { ToastsProvider } from '../components/toasts.tsx'
import { NetworkPage } from '../egress/network-page.tsx'
import { HostLinkProvider, useFeed, useHostLink, type HostLink } from '../feed/feed-context.tsx'
import { ProcessesPage } from '../processes/processes-page.tsx'
import { RulesPage } from '../rules/rules-page.tsx'
import { SessionsPage } from '../sessions/sessions-page.tsx'
import { SettingsPage } from '../settings/settings-page.tsx'
import { useAppActions } from './app-actions.ts'
import { KeyHelp } from './key-help.tsx'
import { NoticeBar } from './notice-bar.tsx'
import { PageBoundary } from './page-boundary.tsx'
import { Palette } from './palette.tsx'
import { Rail } from './rail.tsx'
import { focusPage } from './regions.ts'
import { StatusBar } from './status-bar.tsx'
import { useTheme } from './theme.ts'
import './tokens.css'
import './base.css'
import './frame.css'

const INTO_LIST = new Set(['j', 'k', 'ArrowDown', 'ArrowUp'])

export function App({ link }: { link: HostLink }): ReactNode {
  return (
    <HostLinkProvider link={link}>
      <ActionsProvider>
        <ToastsProvider>
          <Frame />
        </ToastsProvider>
      </ActionsProvider>
    </HostLinkProvider>
  )
}

function Frame(): ReactNode {
  const here = usePlace()
  const [overlay, setOverlay] = useState<'palette' | 'keys' | null>(null)
  const openPalette = useCallback(() => setOverlay('palette'), [])
  const openKeyHelp = useCallback(() => setOverlay('keys'), [])
  useTheme()
  useAppActions({ openPalette, openKeyHelp })
  useEffect(() => {
    document.title = `${SECTION_NAMES[here.section]} · Gatehouse`
  }, [here.section])

  const cameFrom = useRef(here)
  useEffect(() => {
    if (cameFrom.current === here) return
    cameFrom.current = here
    // What had focus went with the page it was on: the keyboard stays in the content.
    if (document.activeElement === document.body) focusPage()
  }, [here])
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.defaultPrevented) return
    if (event.key === 'Escape' && here.id !== null) go(place(here.section, null, here.narrowing))
    // From the page as a whole the moving keys lead into its table or list.
    else if (event.target === event.currentTarget && INTO_LIST.has(event.key)) {
      event.preventDefault()
      focusPage()
    }
  }

  return (
    <div className="frame">
      <Rail />
      <main
        className="content"
        data-region="content"
        tabIndex={-1}
        aria-label={SECTION_NAMES[here.section]}
        onKeyDown={onKeyDown}
      >
        <NoticeBar />
        <PageBoundary resetKey={placeHref(here)}>
          <Page here={here} />
        </PageBoundary>
      </main>
      <StatusBar />
      <ApprovalAnnouncer />
      {overlay === 'palette' && <Palette onClose={() => setOverlay(null)} />}
      {overlay === 'keys' && <KeyHelp onClose={() => setOverlay(null)} />}
    </div>
  )
}

function Page({ here }: { here: Place }): ReactNode {
  const phase = useFeed((state) => state.phase)
  const failure = useFeed((state) => state.failure)
  const everLive = useFeed((state) => state.host !== null)
  const { resubscribe } = useHostLink()
  if (phase === 'loading') return <SkeletonRows label="Asking the host" />
  if (phase === 'failed' && !everLive)
    return (
      <div className="page-body">
        <h1>Gatehouse</h1>
        <ErrorNote
          message="The host of this window does not answer. Nothing is lost: running work goes on, and nothing is allowed."
          detail={failure}
        >
          <Button onClick={resubscribe}>Try again</Button>
        </ErrorNote>
      </div>
    )
  switch (here.section) {
    case 'inbox':
      return <InboxPage id={here.id} />
    case 'sessions':
      return <SessionsPage id={here.id} />
    case 'processes':
      return <ProcessesPage id={here.id} narrowing={here.narrowing} />
    case 'network':
      return <NetworkPage id={here.id} narrowing={here.narrowing} />
    case 'agents':
      return <AgentsPage />
    case 'rules':
      return <RulesPage id={here.id} />
    case 'settings':
      return <SettingsPage />
  }
}
