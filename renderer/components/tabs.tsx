/** Tabs in the pattern of the ARIA guide: one stop in the tab order, arrows move. */
import { useRef, type KeyboardEvent, type ReactNode } from 'react'
import './tabs.css'

export interface TabsProps<Id extends string> {
  label: string
  tabs: readonly { id: Id; title: string; count?: number }[]
  current: Id
  onChange: (id: Id) => void
  panelId: string
}

export function Tabs<Id extends string>({ label, tabs, current, onChange, panelId }: TabsProps<Id>): ReactNode {
  const list = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const next = (tabs.findIndex((tab) => tab.id === current) + step + tabs.length) % tabs.length
    const tab = tabs[next]
    if (!tab) return
    onChange(tab.id)
    list.current?.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus()
  }
  return (
    <div ref={list} className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          className="tab"
          aria-selected={tab.id === current}
          aria-controls={panelId}
          tabIndex={tab.id === current ? 0 : -1}
          onClick={() => onChange(tab.id)}
        >
          {tab.title}
          {tab.count !== undefined && <span className="meta"> {tab.count}</span>}
        </button>
      ))}
    </div>
  )
}
