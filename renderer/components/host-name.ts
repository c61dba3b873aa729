/** Hosts for people: Unicode with the ASCII form beside it when they differ. */

export interface HostName {
  /** As people write it. */
  shown: string
  /** The form that is resolved and matched; null when it is the same. */
  ascii: string | null
}

/** `host` is canonical: ASCII, lower case, IPv6 without brackets. */
export function hostName(host: string): HostName {
  if (!host.includes('xn--')) return { shown: host, ascii: null }
  const labels = host.split('.').map((label) => (label.startsWith('xn--') ? decodePunycode(label.slice(4)) : label))
  if (labels.includes(null)) return { shown: host, ascii: null }
  return { shown: labels.join('.'), ascii: host }
}

/** `host:port` with IPv6 in brackets. */
export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

export function isAddress(host: string): boolean {
  return host.includes(':') || /^\d+(\.\d+){3}$/.test(host)
}

// Parameters of RFC 3492, section 5.
const BASE = 36
const T_MIN = 1
const T_MAX = 26
const SKEW = 38
const DAMP = 700
const FIRST_BIAS = 72
const FIRST_CODE_POINT = 128

/** RFC 3492, section 6.2. Null when the label is not valid Punycode. */
function decodePunycode(label: string): string | null {
  const basicEnd = label.lastIndexOf('-')
  const out = basicEnd > 0 ? Array.from(label.slice(0, basicEnd), (c) => c.codePointAt(0) ?? 0) : []
  let codePoint = FIRST_CODE_POINT
  let bias = FIRST_BIAS
  let index = 0
  let at = basicEnd > 0 ? basicEnd + 1 : 0
  while (at < label.length) {
    const before = index
    let weight = 1
    for (let k = BASE; ; k += BASE) {
      const digit = digitOf(label.charCodeAt(at++))
      if (digit === null) return null
      index += digit * weight
      const threshold = Math.min(Math.max(k - bias, T_MIN), T_MAX)
      if (digit < threshold) break
      weight *= BASE - threshold
      if (weight > Number.MAX_SAFE_INTEGER / BASE) return null
    }
    const length = out.length + 1
    bias = adaptBias(index - before, length, before === 0)
    codePoint += Math.floor(index / length)
    index %= length
    if (codePoint > 0x10ffff) return null
    out.splice(index, 0, codePoint)
    index += 1
  }
  return out.length > 0 ? String.fromCodePoint(...out) : null
}

function digitOf(charCode: number): number | null {
  if (charCode >= 0x30 && charCode <= 0x39) return charCode - 0x30 + 26
  if (charCode >= 0x61 && charCode <= 0x7a) return charCode - 0x61
  return null
}

function adaptBias(delta: number, length: number, first: boolean): number {
  let rest = Math.floor(delta / (first ? DAMP : 2))
  rest += Math.floor(rest / length)
  let k = 0
  while (rest > ((BASE - T_MIN) * T_MAX) / 2) {
    rest = Math.floor(rest / (BASE - T_MIN))
    k += BASE
  }
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW))
}
