/** A link in output was pressed: its whole address is shown before anything opens. */
import type { ReactNode } from 'react'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { hostName } from '../components/host-name.ts'
import { useToasts } from '../components/toasts.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useInvoke } from '../feed/feed-context.tsx'
import { openableUrl } from './terminal-safety.ts'
import './link-dialog.css'

export function LinkDialog({ address, onClose }: { address: string; onClose: () => void }): ReactNode {
  const invoke = useInvoke()
  const toasts = useToasts()
  const url = openableUrl(address)

  const open = (): void => {
    onClose()
    if (!url) return
    void invoke('shell.openExternal', url.href).then((outcome) => {
      if (!outcome.ok) toasts.show({ tone: 'failure', message: `The link was not opened. ${outcome.message}` })
    })
  }

  return (
    <Dialog title={url ? 'Open this link in your browser?' : 'This link cannot be opened'} onClose={onClose}>
      <p>
        The program wrote it; the words it showed may say something else.
        {url && (
          <>
            {' '}
            It leads to <strong>{hostName(url.hostname).shown}</strong>.
          </>
        )}
        {!url && ' Only web addresses are opened from output.'}
      </p>
      <p className="link-address">
        <VisibleText code text={address} />
      </p>
      <div className="dialog-actions">
        <Button onClick={onClose}>{url ? 'Cancel' : 'Close'}</Button>
        {url && <Button onClick={open}>Open link</Button>}
      </div>
    </Dialog>
  )
}
