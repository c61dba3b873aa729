import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'

/** Zstandard came to Node 22.15; older runtimes do not offer it to servers. */
const createZstdDecompress = (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress

/** What is asked for when the caller does not say. */
export const ACCEPT_ENCODING = createZstdDecompress ? 'zstd,gzip' : 'gzip'

export interface DecodedAnswer {
  status: number
  /** Lower-case names, repeats kept; values that are not UTF-8 are left out. */
  headers: { name: string; value: string }[]
  body: Readable
}

/** Takes gzip and zstd off a body; the headers then no longer speak of them. Other encodings pass. */
export function decodeAnswer(response: IncomingMessage): DecodedAnswer {
  const decoder = decoderFor(response.headers['content-encoding'])
  const headers = headersOf(response.rawHeaders).filter(
    ({ name }) => !decoder || (name !== 'content-encoding' && name !== 'content-length'),
  )
  const status = response.statusCode ?? 0
  if (!decoder) return { status, headers, body: response }
  // Its errors, and those of the response, arrive at the reader as the decoder's.
  pipeline(response, decoder, () => {})
  return { status, headers, body: decoder }
}

function decoderFor(encoding: string | undefined): Transform | null {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip()
    case 'zstd':
      return createZstdDecompress?.() ?? null
    default:
      return null
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function headersOf(raw: string[]): { name: string; value: string }[] {
  const headers: { name: string; value: string }[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = raw.slice(i, i + 2)
    try {
      headers.push({ name: name.toLowerCase(), value: utf8.decode(Buffer.from(value, 'latin1')) })
    } catch {
      // Not UTF-8: the wire has no way to carry it.
    }
  }
  return headers
}
