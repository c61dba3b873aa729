/** The exec server's wire, part 3: `fs/*`. Paths are `file:` URIs, content is standard base64 with padding. */
import {
  array,
  boolean,
  integer,
  literal,
  object,
  optional,
  string,
  u64,
  whenAbsent,
  withDefault,
  type Infer,
} from './decode.ts'
import { sandboxObject } from './exec-sandbox.ts'

const sandbox = optional(sandboxObject)
const followSymlinks = withDefault(boolean, true)

export const readFileParams = object({ path: string, followSymlinks, sandbox })
export const readFileResult = object({ dataBase64: string })
export const writeFileParams = object({ path: string, dataBase64: string, followSymlinks, sandbox })
export const createDirectoryParams = object({
  path: string,
  recursive: withDefault(boolean, true),
  followSymlinks,
  sandbox,
})
export const getMetadataParams = object({ path: string, followSymlinks, sandbox })
export const fileMetadata = object({
  isDirectory: boolean,
  isFile: boolean,
  isSymlink: boolean,
  size: integer(0),
  /** 0 when the file system does not tell. */
  createdAtMs: integer(),
  modifiedAtMs: integer(),
})
export type FileMetadata = Infer<typeof fileMetadata>
export const canonicalizeParams = object({ path: string, sandbox })
export const canonicalizeResult = object({ path: string })
export const readDirectoryParams = object({ path: string, sandbox })
export const readDirectoryResult = object({
  entries: array(object({ fileName: string, isDirectory: boolean, isFile: boolean })),
})
export const walkOptions = object({
  maxDepth: u64,
  maxDirectories: u64,
  maxEntries: u64,
  followDirectorySymlinks: boolean,
  pruneHiddenDirectories: withDefault(boolean, false),
})
export type WalkOptions = Infer<typeof walkOptions>
export const walkParams = object({ path: string, options: walkOptions, sandbox })
export const walkResult = object({
  entries: array(object({ path: string, kind: literal('file', 'directory') })),
  errors: array(object({ path: string, message: string })),
  truncated: boolean,
})
export type WalkResult = Infer<typeof walkResult>
export const removeParams = object({
  path: string,
  recursive: withDefault(boolean, true),
  force: withDefault(boolean, true),
  followSymlinks,
  sandbox,
})
export const copyParams = object({ sourcePath: string, destinationPath: string, recursive: boolean, sandbox })
export const openParams = object({
  handleId: string,
  path: string,
  mode: whenAbsent(literal('read', 'replace'), 'read' as const),
  sandbox,
})
export const openResult = object({ handleId: string })
export const readBlockParams = object({ handleId: string, offset: u64, len: u64 })
export const readBlockResult = object({ chunk: string, eof: boolean })
export const writeBlockParams = object({ handleId: string, offset: u64, chunk: string })
export const closeHandleParams = object({ handleId: string })
export const watchMissingParams = object({ watchId: u64, missing: array(string), present: optional(string) })
export const watchMissingResult = object({ watching: boolean })
/** Notification `fs/missingChanged`. */
export const missingChanged = object({ watchId: integer(0) })
