/** Names to addresses. The result is what gets dialled: nothing resolves a second time. */
import { lookup as systemLookup } from 'node:dns/promises'
import { canonicalHost, isIpLiteral } from '../../protocol/host-pattern.ts'
import { isLocalhostName } from '../policy/address-guard.ts'

/** Resolves a canonical name to canonical addresses, preferred first. Rejects, or gives none, on failure. */
export type Resolver = (host: string) => Promise<string[]>

/** One family's half of a lookup. */
export type FamilyLookup = (host: string, family: 4 | 6) => Promise<string[]>

/** The system's resolver, so that the hosts file, search domains and local names work as everywhere else. */
export const systemFamilyLookup: FamilyLookup = async (host, family) => {
  const found = await systemLookup(host, { family, all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/**
 * Asks for both families at once and uses what resolved: a name server that fails on AAAA must not kill
 * the A answer. Rejects with the IPv4 error when neither half gave an address.
 */
export function bothFamilies(lookup: FamilyLookup = systemFamilyLookup): Resolver {
  return async (host) => {
    const [ipv4, ipv6] = await Promise.allSettled([lookup(host, 4), lookup(host, 6)])
    const addresses = [ipv4, ipv6].flatMap((half) => (half.status === 'fulfilled' ? half.value : []))
    if (addresses.length === 0 && ipv4.status === 'rejected') throw ipv4.reason
    return addresses.map(canonicalHost)
  }
}

/** Addresses that no name server is asked for: literals, and the names of this machine (RFC 6761). */
export function addressesWithoutLookup(host: string): string[] | undefined {
  if (isIpLiteral(host)) return [host]
  return isLocalhostName(host) ? ['127.0.0.1', '::1'] : undefined
}

/** The name did not resolve; `message` is a sentence part. */
export class ResolveFailed extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ResolveFailed'
  }
}

/**
 * Runs `resolver` with a limit. An error, no answer in time and an empty answer are all a failure.
 * @throws ResolveFailed
 */
export async function resolveWithin(resolver: Resolver, host: string, limitMs: number): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ResolveFailed(`no answer within ${limitMs} ms`)), limitMs)
  })
  try {
    const addresses = await Promise.race([resolver(host), expired])
    if (addresses.length === 0) throw new ResolveFailed('the name has no address')
    return addresses
  } catch (error) {
    if (error instanceof ResolveFailed) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new ResolveFailed(code === undefined ? 'the lookup failed' : `the lookup failed with ${code}`)
  } finally {
    clearTimeout(timer)
  }
}
