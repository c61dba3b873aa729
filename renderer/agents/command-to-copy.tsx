/** A command or file text that the owner may want in a terminal or editor. */
import type { ReactNode } from 'react'
import { CopyButton } from '../components/copy-button.tsx'
import './command-to-copy.css'

export function CommandToCopy({ text, name }: { text: string; name: string }): ReactNode {
  return (
    <div className="command-to-copy">
      <pre tabIndex={0} aria-label={name} role="region">
        {text}
      </pre>
      <CopyButton text={text} name={`Copy: ${name}`} />
    </div>
  )
}
