/**
 * Decoders for values that cross a process edge.
 *
 * A decoder turns `unknown` into a domain type or throws a {@link DecodeError} that names the field
 * and what is wrong with it. Unknown members of objects are ignored and dropped.
 */

/** A value did not have the promised shape. `path` is like `params.argv[1]`. */
export class DecodeError extends Error {
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(path === '' ? problem : `${path}: ${problem}`)
    this.name = 'DecodeError'
  }
}

export type Decoder<T> = (value: unknown, path: string) => T
export type Infer<D> = D extends Decoder<infer T> ? T : never

function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value === undefined) return 'nothing'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function wrong(path: string, expected: string, value: unknown): never {
  throw new DecodeError(path, `expected ${expected}, got ${describe(value)}`)
}

export const string: Decoder<string> = (value, path) =>
  typeof value === 'string' ? value : wrong(path, 'a string', value)

export const boolean: Decoder<boolean> = (value, path) =>
  typeof value === 'boolean' ? value : wrong(path, 'true or false', value)

export const number: Decoder<number> = (value, path) =>
  typeof value === 'number' && Number.isFinite(value) ? value : wrong(path, 'a number', value)

/** A whole number within safe range; `min` and `max` are inclusive. */
export const integer =
  (min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER): Decoder<number> =>
  (value, path) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) wrong(path, 'a whole number', value)
    if (value < min || value > max) throw new DecodeError(path, `expected ${min}..${max}, got ${value}`)
    return value
  }

/**
 * An unsigned 64-bit integer of a peer that counts further than JavaScript does: what is beyond safe range counts
 * as the end of it. For limits, times and positions; an id would change.
 */
export const u64: Decoder<number> = (value, path) => {
  if (typeof value !== 'number' || !Number.isInteger(value)) wrong(path, 'a whole number', value)
  if (value < 0 || value > MAX_U64) throw new DecodeError(path, `expected 0..${MAX_U64}, got ${value}`)
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
const MAX_U64 = 2 ** 64

/** Accepts anything; for values that are only passed on. */
export const unknown: Decoder<unknown> = (value) => value

export const literal =
  <const T extends string | number | boolean | null>(...allowed: T[]): Decoder<T> =>
  (value, path) => {
    if ((allowed as unknown[]).includes(value)) return value as T
    throw new DecodeError(
      path,
      `expected ${allowed.map((a) => JSON.stringify(a)).join(' or ')}, got ${
        typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : describe(value)
      }`,
    )
  }

export const array =
  <T>(item: Decoder<T>): Decoder<T[]> =>
  (value, path) =>
    Array.isArray(value) ? value.map((v, i) => item(v, `${path}[${i}]`)) : wrong(path, 'an array', value)

export const record =
  <T>(item: Decoder<T>): Decoder<Record<string, T>> =>
  (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(path, 'an object', value)
    const out: Record<string, T> = Object.create(null) as Record<string, T>
    for (const [k, v] of Object.entries(value)) out[k] = item(v, `${path}.${k}`)
    return out
  }

/** Absent or `null` decodes to `undefined`. */
export const optional =
  <T>(inner: Decoder<T>): Decoder<T | undefined> =>
  (value, path) =>
    value === undefined || value === null ? undefined : inner(value, path)

/** Absent or `null` decodes to `fallback`. */
export const withDefault =
  <T>(inner: Decoder<T>, fallback: T): Decoder<T> =>
  (value, path) =>
    value === undefined || value === null ? fallback : inner(value, path)

/** Absent decodes to `fallback`; `null` goes to `inner` and is usually refused there. */
export const whenAbsent =
  <T>(inner: Decoder<T>, fallback: T): Decoder<T> =>
  (value, path) =>
    value === undefined ? fallback : inner(value, path)

export const nullable =
  <T>(inner: Decoder<T>): Decoder<T | null> =>
  (value, path) =>
    value === undefined || value === null ? null : inner(value, path)

type Shape = Record<string, Decoder<unknown>>
type OptionalKeys<S extends Shape> = {
  [K in keyof S]: undefined extends Infer<S[K]> ? K : never
}[keyof S]
type ObjectOf<S extends Shape> = { [K in Exclude<keyof S, OptionalKeys<S>>]: Infer<S[K]> } & {
  [K in OptionalKeys<S>]?: Infer<S[K]>
}

export const object =
  <S extends Shape>(shape: S): Decoder<ObjectOf<S>> =>
  (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(path, 'an object', value)
    const source = value as Record<string, unknown>
    const out: Record<string, unknown> = {}
    for (const key of Object.keys(shape)) {
      const at = path === '' ? key : `${path}.${key}`
      const decoded = (shape[key] as Decoder<unknown>)(Object.hasOwn(source, key) ? source[key] : undefined, at)
      if (decoded !== undefined) out[key] = decoded
    }
    return out as ObjectOf<S>
  }

/** A tagged union: `tag` picks the variant. */
export const variant =
  <K extends string, V extends Record<string, Decoder<object>>>(
    tag: K,
    variants: V,
  ): Decoder<{ [N in keyof V]: { [P in K]: N } & Infer<V[N]> }[keyof V]> =>
  (value, path) => {
    if (typeof value !== 'object' || value === null) wrong(path, 'an object', value)
    const name = (value as Record<string, unknown>)[tag]
    const at = path === '' ? tag : `${path}.${tag}`
    if (typeof name !== 'string' || !Object.hasOwn(variants, name))
      throw new DecodeError(at, `expected one of ${Object.keys(variants).join(', ')}`)
    return { [tag]: name, ...(variants[name] as Decoder<object>)(value, path) } as never
  }

/** Runs a decoder on a whole value. `root` names it in errors (default: no name). */
export function decode<T>(decoder: Decoder<T>, value: unknown, root = ''): T {
  return decoder(value, root)
}
