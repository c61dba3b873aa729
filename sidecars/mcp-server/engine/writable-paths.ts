/** Which of some real paths lie where a sandbox would not let them be written. */

const below = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)

/** Paths outside every root, or inside a protected folder below one. All are real, absolute paths. */
export function pathsOutside(
  paths: readonly string[],
  roots: readonly string[],
  protectedPaths: readonly string[],
): string[] {
  return paths.filter(
    (path) => !roots.some((root) => below(path, root)) || protectedPaths.some((root) => below(path, root)),
  )
}
