/** Hooks: which requests to a host may pass, and what happens to their header fields on the way. */
import { MalformedHttp, type Fields } from '../http/fields.ts'
import type { Refusal } from '../policy/refusal.ts'
import { performActions, type HookAction, type Performed } from './hook-actions.ts'
import { AmbiguousPath, readPath, type ReadPath } from './request-path.ts'
import type { ValuePattern } from './value-pattern.ts'

export interface Hook {
  name: string
  /** Canonical. */
  host: string
  /** Upper case. */
  methods: readonly string[]
  paths: readonly ValuePattern[]
  query: ReadonlyMap<string, readonly ValuePattern[]>
  /** Names in lower case; no patterns = the field has to be there. */
  headers: ReadonlyMap<string, readonly ValuePattern[]>
  /** Undefined = https only. */
  schemes: readonly string[] | undefined
  /** Undefined = every port. */
  ports: readonly number[] | undefined
  actions: readonly HookAction[]
}

/** A request as hooks see it. */
export interface HookedRequest {
  host: string
  port: number
  scheme: 'http' | 'https'
  method: string
  /** With the query. */
  path: string
  fields: Fields
}

export type HookOutcome =
  /** The host has no hooks. */
  | { kind: 'free' }
  /** Fields are changed already. */
  | ({ kind: 'matched'; hook: string } & Performed)
  | { kind: 'refused'; refusal: Refusal }

const FREE: HookOutcome = { kind: 'free' }

export class HookTable {
  private readonly byHost = new Map<string, Hook[]>()

  /** `childVariables`: what children get in place of variables whose values are secrets of hooks. */
  constructor(
    hooks: readonly Hook[],
    readonly childVariables: ReadonlyMap<string, string> = new Map(),
  ) {
    for (const hook of hooks) {
      const list = this.byHost.get(hook.host)
      if (list) list.push(hook)
      else this.byHost.set(hook.host, [hook])
    }
  }

  get isEmpty(): boolean {
    return this.byHost.size === 0
  }

  isHooked(host: string): boolean {
    return this.byHost.has(host)
  }

  /** A hook speaks about this very port. */
  namesPort(host: string, port: number): boolean {
    return this.byHost.get(host)?.some(({ ports }) => ports?.includes(port)) ?? false
  }

  /**
   * Applies the first hook that matches to the request's fields.
   * @throws MalformedHttp when servers could read the path in two ways
   */
  apply(request: HookedRequest): HookOutcome {
    const hooks = this.byHost.get(request.host)
    if (!hooks) return FREE
    const sameScheme = hooks.filter(({ schemes }) => schemes?.includes(request.scheme) ?? request.scheme === 'https')
    if (sameScheme.length === 0 && request.scheme === 'http')
      return { kind: 'refused', refusal: { reason: 'mitm_required', source: 'mode_guard' } }
    const read = pathOf(request)
    const hook = sameScheme.find((candidate) => matches(candidate, request, read))
    if (!hook) return { kind: 'refused', refusal: { reason: 'mitm_hook_denied', source: 'baseline_policy' } }
    const performed = performActions(hook.actions, request)
    if ('refusal' in performed) return { kind: 'refused', refusal: performed.refusal }
    return { kind: 'matched', hook: hook.name, ...performed }
  }
}

function pathOf({ path }: HookedRequest): ReadPath {
  try {
    return readPath(path)
  } catch (error) {
    if (error instanceof AmbiguousPath) throw new MalformedHttp(error.message)
    throw error
  }
}

function matches(hook: Hook, { method, port, fields }: HookedRequest, { path, query }: ReadPath): boolean {
  return (
    hook.methods.includes(method) &&
    (hook.ports?.includes(port) ?? true) &&
    hook.paths.some((pattern) => coversPath(pattern, path)) &&
    [...hook.query].every(([name, allowed]) => query.getAll(name).some((value) => isAllowed(allowed, value))) &&
    [...hook.headers].every(([key, allowed]) => valuesOf(fields, key).some((value) => isAllowed(allowed, value)))
  )
}

function isAllowed(allowed: readonly ValuePattern[], value: string): boolean {
  return allowed.length === 0 || allowed.some((pattern) => pattern.matches(value))
}

/** A literal covers itself and what is below it; one that ends in `*` whatever starts like it. */
function coversPath(pattern: ValuePattern, path: string): boolean {
  const { kind, text } = pattern
  if (kind === 'glob') return pattern.matches(path)
  if (text.endsWith('*')) return path.startsWith(text.slice(0, -1))
  return path === text || path.startsWith(text.endsWith('/') ? text : `${text}/`)
}

function valuesOf(fields: Fields, key: string): string[] {
  return fields.values.filter((_, at) => fields.keys[at] === key)
}
