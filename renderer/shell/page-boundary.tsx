/** A fault in one page leaves the rest of the window alive: rail, status bar and every other page still work. */
import { Component, type ReactNode } from 'react'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/states.tsx'

interface PageBoundaryProps {
  /** Another page is another attempt. */
  resetKey: string
  children: ReactNode
}

export class PageBoundary extends Component<PageBoundaryProps, { fault: Error | null; resetKey: string }> {
  override state = { fault: null, resetKey: this.props.resetKey }

  static getDerivedStateFromError(fault: unknown): { fault: Error } {
    return { fault: fault instanceof Error ? fault : new Error(String(fault)) }
  }

  static getDerivedStateFromProps(
    props: PageBoundaryProps,
    state: { resetKey: string },
  ): { fault: null; resetKey: string } | null {
    return props.resetKey === state.resetKey ? null : { fault: null, resetKey: props.resetKey }
  }

  override render(): ReactNode {
    const { fault } = this.state as { fault: Error | null }
    if (!fault) return this.props.children
    return (
      <div className="page-body">
        <h1>This page failed</h1>
        <ErrorNote
          message="It cannot be drawn because of a fault in Gatehouse. Nothing was decided, and what runs goes on."
          detail={fault.stack ?? fault.message}
        >
          <Button onClick={() => this.setState({ fault: null })}>Draw it again</Button>
        </ErrorNote>
      </div>
    )
  }
}
