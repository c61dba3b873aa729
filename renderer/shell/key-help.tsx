/** All keys on one page: F1. */
import type { ReactNode } from 'react'
import { useActionRegistry } from '../components/actions.tsx'
import { Dialog } from '../components/dialog.tsx'
import { writeChord } from '../components/key-chords.ts'

/** Keys that belong to a part of the window and not to an action. */
const LOCAL_KEYS: readonly [chords: string[], words: string][] = [
  [['Mod+Enter'], 'Allow the request of the focused card, with its scope'],
  [['Mod+Backspace'], 'Deny the request of the focused card'],
  [['Mod+Shift+Backspace'], 'Deny it and say why'],
  [['1', '2', '3'], 'In a scope choice: once, session, always'],
  [['J', 'K'], 'Next and previous row or card; arrows too'],
  [['Enter'], 'Open'],
  [['Escape'], 'Back'],
  [['Mod+M'], 'In a terminal: leave it, so that Tab moves on'],
]

export function KeyHelp({ onClose }: { onClose: () => void }): ReactNode {
  const actions = useActionRegistry()
    .list()
    .filter((action) => action.chord)
  return (
    <Dialog title="Keys" onClose={onClose}>
      <table className="key-table">
        <tbody>
          {actions.map((action) => (
            <tr key={action.id}>
              <td>
                <kbd>{writeChord(action.chord ?? '')}</kbd>
              </td>
              <td>{action.title}</td>
            </tr>
          ))}
          {LOCAL_KEYS.map(([chords, words]) => (
            <tr key={words}>
              <td>
                {chords.map((chord) => (
                  <kbd key={chord}>{writeChord(chord)}</kbd>
                ))}
              </td>
              <td>{words}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="meta">Plain letters never allow, deny or stop anything.</p>
    </Dialog>
  )
}
