import { readCommandWrapper } from './command-wrapper.ts'
import { readFindActions } from './find-actions.ts'
import { readGitCommand } from './git-command.ts'
import { readInlineCode } from './inline-code.ts'
import { readLauncher } from './launcher.ts'
import { readRemoteShell } from './remote-shell.ts'
import { readShellWrapper } from './shell-wrapper.ts'
import { started, type Started, type Words } from './started.ts'

/** What a command line starts beside its own program; undefined when its program is the whole story. */
export function readStartedCommands(words: Words): Started | undefined {
  const shell = readShellWrapper(words)
  if (shell)
    return shell.kind === 'text'
      ? started({ texts: [shell.text], notes: shell.notes })
      : started({ hints: shell.hints, notes: [shell.why] })
  return (
    readCommandWrapper(words) ??
    readLauncher(words) ??
    readRemoteShell(words) ??
    readFindActions(words) ??
    readGitCommand(words) ??
    readInlineCode(words)
  )
}
