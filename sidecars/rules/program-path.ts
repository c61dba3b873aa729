import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** Installing a program is noticed this late; asking the disk each time would slow verdicts. */
const REMEMBERED_MS = 5_000

/** Which file a bare program name means on the owner's search path. Relative entries are not trusted. */
export class ProgramPath {
  private folders: string[] = []
  private readonly found = new Map<string, { path: string | undefined; untilMs: number }>()

  constructor(searchPath: string) {
    this.set(searchPath)
  }

  /** Replaces the search path, e.g. once the login shell's is known. */
  set(searchPath: string): void {
    this.folders = searchPath.split(delimiter).filter((folder) => isAbsolute(folder))
    this.found.clear()
  }

  /** Whether `path` is the file that `name` means, also through links such as /bin -> /usr/bin. */
  isFileOf(name: string, path: string): boolean {
    const meant = this.find(name)
    return meant !== undefined && (meant === path || sameFile(meant, path))
  }

  /** Whether a search path has only folders of this one. An empty entry means the current folder. */
  isTrusted(searchPath: string): boolean {
    return searchPath.split(delimiter).every((folder) => this.folders.includes(folder))
  }

  /** The first executable file of that name, or undefined. */
  find(name: string): string | undefined {
    const known = this.found.get(name)
    if (known && known.untilMs > performance.now()) return known.path
    const path = this.folders.map((folder) => join(folder, name)).find(isExecutable)
    if (this.found.size > 1_000) this.found.clear()
    this.found.set(name, { path, untilMs: performance.now() + REMEMBERED_MS })
    return path
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function sameFile(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b)
  } catch {
    return false
  }
}
