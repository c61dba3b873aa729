import { readFile } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { dirname, join } from 'node:path'
import type { EnvironmentConfigResult } from '../../protocol/exec-environment.ts'
import { formatPathUri, pathOfText } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'
import { selectSubtrees } from './toml-subtree.ts'

/** A configuration larger than this is a mistake, or an attack on our memory. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

interface LayerFile {
  path: string
  /** How the reference calls the layer; it is shown to people. */
  source: string
  /** Layers of the machine; settings from a cloud would come right behind them. */
  isOfSystem: boolean
}
type Layers = EnvironmentConfigResult['config']

export interface ConfigPlaces {
  /** `$CODEX_HOME` or `~/.codex`. */
  codexHome: string
  /** `/etc/codex`. */
  systemFolder: string
}

/** Where Codex keeps its configuration on this machine. */
export function defaultConfigPlaces(): ConfigPlaces {
  return { codexHome: process.env.CODEX_HOME || join(homedir(), '.codex'), systemFolder: '/etc/codex' }
}

/**
 * `environmentConfig/read`: the named subtrees of the Codex configuration on this machine, weakest
 * layer first, written as TOML again.
 * @throws WireError for paths without a segment, and naming a file that is no TOML
 */
export async function readConfigLayers(
  query: { configPaths: string[][]; requirementsPaths: string[][] },
  { codexHome, systemFolder }: ConfigPlaces,
): Promise<EnvironmentConfigResult> {
  const paths = [...query.configPaths, ...query.requirementsPaths]
  if (paths.length === 0) throw invalid('at least one config or requirements path is required')
  if (paths.some((path) => path.length === 0)) throw invalid('TOML paths must contain at least one key segment')
  const system = join(systemFolder, 'config.toml')
  const user = join(codexHome, 'config.toml')
  const managed = join(systemFolder, 'managed_config.toml')
  const requirements = join(systemFolder, 'requirements.toml')
  return {
    userHomeDir: uriOf(homedir()),
    codexHomeDir: uriOf(codexHome),
    hostname: hostname(),
    config: await readLayers(query.configPaths, [
      { path: system, source: `system (${system})`, isOfSystem: true },
      { path: user, source: `user (${user})`, isOfSystem: false },
      { path: managed, source: `legacy managed_config.toml (${managed})`, isOfSystem: false },
    ]),
    requirements: await readLayers(query.requirementsPaths, [
      { path: requirements, source: requirements, isOfSystem: true },
    ]),
  }
}

async function readLayers(paths: string[][], files: LayerFile[]): Promise<Layers> {
  const layers: Layers = { layers: [], cloudInsertionIndex: 0 }
  if (paths.length === 0) return layers
  for (const { path, source, isOfSystem } of files) {
    const toml = await readSubtrees(path, paths)
    if (toml === null) continue
    layers.layers.push({ source, baseDir: uriOf(dirname(path)), toml })
    if (isOfSystem) layers.cloudInsertionIndex = layers.layers.length
  }
  return layers
}

/** Null when there is no such file or none of the paths begins in it. */
async function readSubtrees(path: string, paths: string[][]): Promise<string | null> {
  const text = await readText(path)
  if (text === null) return null
  // Loaded when first asked for: most clients never do.
  const { parse, stringify } = await import('smol-toml')
  try {
    // Integers as bigint, so that 1 and 1.0 stay what they are.
    const selected = selectSubtrees(parse(text, { integersAsBigInt: true }), paths)
    return Object.keys(selected).length === 0 ? null : stringify(selected, { numbersAsFloat: true })
  } catch (error) {
    const { line, column } = error as { line?: number; column?: number }
    const [summary = ''] = (error as Error).message.split('\n')
    throw unreadable(`${path}${line === undefined ? '' : `:${line}:${column}`}: ${summary}`)
  }
}

async function readText(path: string): Promise<string | null> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw unreadable(`${path}: ${code ?? message}`)
  }
  if (bytes.length > MAX_FILE_BYTES) throw unreadable(`${path}: larger than ${MAX_FILE_BYTES} bytes`)
  return bytes.toString('utf8')
}

const uriOf = (path: string) => formatPathUri(pathOfText(path))
const invalid = (message: string) => new WireError('invalidParams', message)
const unreadable = (what: string) => new WireError('internal', `failed to load executor-local config: ${what}`)
