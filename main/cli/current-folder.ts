import { CommandError } from './command.ts'

/**
 * The folder of this terminal.
 * @throws CommandError with `exitCode` when it was deleted
 */
export function currentFolder(exitCode = 1): string {
  try {
    return process.cwd()
  } catch (error) {
    throw new CommandError(
      `this terminal's folder cannot be used (${(error as NodeJS.ErrnoException).code}): it was deleted or closed to you; cd to another one`,
      exitCode,
    )
  }
}
