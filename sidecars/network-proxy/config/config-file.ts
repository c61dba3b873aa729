/** A configuration file on disk: TOML, or JSON when it starts with a brace. */
import { readFile } from 'node:fs/promises'
import { parse as parseToml, TomlError } from 'smol-toml'
import { ConfigError, parseNetworkConfig, type NetworkConfig } from './network-config.ts'

/**
 * Reads and validates a file: the network object itself, or a document with one `network` table.
 * @throws ConfigError naming the file, and the key or line
 */
export async function readConfigFile(path: string): Promise<NetworkConfig> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError(path, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`)
  }
  const document = parseDocument(path, text)
  try {
    return parseNetworkConfig(networkTable(document))
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(path, error.message)
    throw error
  }
}

/** The document of a TOML or JSON text. @throws ConfigError with the line */
export function parseDocument(path: string, text: string): Record<string, unknown> {
  try {
    const document: unknown = text.trimStart().startsWith('{') ? JSON.parse(text) : parseToml(text)
    return document as Record<string, unknown>
  } catch (error) {
    if (error instanceof TomlError) throw new ConfigError(`${path}:${error.line}`, error.message.split('\n')[0]!)
    throw new ConfigError(path, `not valid JSON: ${(error as Error).message}`)
  }
}

/** The network object of a document that is one, or that holds one as its only table. */
export function networkTable(document: Record<string, unknown>): unknown {
  const keys = Object.keys(document)
  return keys.length === 1 && keys[0] === 'network' ? document.network : document
}
