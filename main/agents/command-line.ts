import { realpathSync } from 'node:fs'

/** The words that start the command line `program` (a file `bin/gatehouse`) in a terminal or from an agent's settings. */
export function commandLineWords(program: string, findProgram: (name: string) => string | undefined): string[] {
  const found = findProgram('gatehouse')
  return found !== undefined && isSameFile(found, program) ? ['gatehouse'] : ['node', program]
}

function isSameFile(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b)
  } catch {
    return false
  }
}
