/**
 * The MCP SDK asks for Node 20; it runs on our floor (Node 18.15) once these two globals exist.
 * Import this file before anything that loads the SDK.
 */
import { webcrypto } from 'node:crypto'

if (!('crypto' in globalThis))
  Object.defineProperty(globalThis, 'crypto', { value: webcrypto, configurable: true, writable: true })

if (!('canParse' in URL))
  Object.defineProperty(URL, 'canParse', {
    value: (text: string, base?: string) => {
      try {
        return Boolean(new URL(text, base))
      } catch {
        return false
      }
    },
    configurable: true,
    writable: true,
  })
