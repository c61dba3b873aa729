/** The page of one process: tree, terminal or all output, input, signals, facts. */
import { useState, type ReactNode } from 'react'
import type { ProcessView } from '../../preload/api.ts'
import { selectRequestOfStart } from '../approvals/selectors.ts'
import { commandText, shorten } from '../approvals/subject-words.ts'
import { useActions } from '../components/actions.tsx'
import { Button, IconButton } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { PageHead } from '../components/page.tsx'
import { place, placeHref } from '../components/places.ts'
import { formatBytes } from '../components/quantities.ts'
import { SplitPane } from '../components/split-pane.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useToasts } from '../components/toasts.tsx'
import { useMediaQuery } from '../components/use-media-query.ts'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed, useInvoke } from '../feed/feed-context.tsx'
import { MemberList } from './member-list.tsx'
import { OutputLogView } from './output-log-view.tsx'
import { ProcessInspector } from './process-inspector.tsx'
import { ProcessState } from './process-state.tsx'
import { isLive } from './selectors.ts'
import { SignalControls } from './signal-controls.tsx'
import { StdinLine } from './stdin-line.tsx'
import { TerminalView } from './terminal-view.tsx'
import { useMembers } from './use-members.ts'
import './process-detail.css'

type OutputMode = 'terminal' | 'all'

export function ProcessDetail({ process }: { process: ProcessView }): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const members = useMembers(process.id, isLive(process))
  const [mode, setMode] = useState<OutputMode>('terminal')
  const isWide = useMediaQuery('(min-width: 1000px)')
  const [inspects, setInspects] = useState(isWide)
  const command = commandText(process.argv)
  const requestId = useFeed((state) => selectRequestOfStart(state, process))

  const save = (format: 'raw' | 'text'): void => {
    void invoke('processes.save', process.id, format).then((outcome) => {
      if (!outcome.ok) toasts.show({ tone: 'failure', message: `The output was not saved. ${outcome.message}` })
      else if (outcome.value)
        toasts.show({ message: `Saved ${formatBytes(outcome.value.bytes)} to ${outcome.value.path}` })
    })
  }
  useActions([
    {
      id: 'inspector',
      title: inspects ? 'Hide the inspector' : 'Show the inspector',
      chord: 'F4',
      run: () => setInspects(!inspects),
    },
    { id: 'save-raw', title: 'Save the output as it is', run: () => save('raw') },
    { id: 'save-text', title: 'Save the output as text', run: () => save('text') },
  ])

  const output = (
    <div className="process-output">
      {requestId !== null && (
        <p className="process-waits">
          This runs when you allow it.{' '}
          <a className="link" href={placeHref(place('inbox', requestId))}>
            Open the request
          </a>
        </p>
      )}
      <div className="output-bar">
        <Tabs
          label="Output"
          tabs={[
            { id: 'terminal', title: 'Terminal' },
            { id: 'all', title: 'All output' },
          ]}
          current={mode}
          onChange={setMode}
          panelId="process-output-panel"
        />
        <span className="spacer" />
        <Button tone="quiet" icon="save" aria-label="Save raw: the output as it is" onClick={() => save('raw')}>
          Save raw
        </Button>
        <Button
          tone="quiet"
          icon="save"
          aria-label="Save text: the output without colours"
          onClick={() => save('text')}
        >
          Save text
        </Button>
      </div>
      <div
        id="process-output-panel"
        role="tabpanel"
        aria-label={mode === 'terminal' ? 'Terminal' : 'All output'}
        className="output-panel"
      >
        {mode === 'terminal' ? (
          <TerminalView process={process} onShowAll={() => setMode('all')} />
        ) : (
          <OutputLogView process={process} />
        )}
      </div>
      <StdinLine process={process} />
    </div>
  )
  return (
    <>
      <PageHead
        parent={{ name: 'Processes', place: place('processes') }}
        title={<VisibleText code text={shorten(command, 200)} />}
        meta={<ProcessState process={process} />}
      >
        <CopyButton text={command} name="Copy the command" />
        <SignalControls process={process} members={members} />
        <IconButton
          name="Inspector"
          icon="panel"
          title="Inspector  F4"
          aria-pressed={inspects}
          onClick={() => setInspects(!inspects)}
        />
      </PageHead>
      <SplitPane
        name="process-inspector"
        label="Width of the inspector"
        side="end"
        initialPx={300}
        minPx={220}
        maxPx={520}
        folded={!inspects}
        pane={<ProcessInspector process={process} />}
      >
        <SplitPane
          name="process-tree"
          label="Width of the process tree"
          side="start"
          initialPx={200}
          minPx={140}
          maxPx={360}
          folded={!isWide || members.length === 0}
          pane={
            <div className="member-pane" data-region="list" role="region" aria-label="Process tree" tabIndex={-1}>
              <MemberList members={members} />
            </div>
          }
        >
          {output}
        </SplitPane>
      </SplitPane>
    </>
  )
}
