/**
 * Which addresses lie outside the public internet. A name that resolves to one of these, or a literal
 * that is one, is refused unless the owner listed exactly that literal (or lifted the guard, which
 * still leaves the metadata services of clouds closed).
 */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Why an address is not public; used in reasons shown to people. */
export type AddressClass =
  | 'public'
  | 'metadata service'
  | 'loopback'
  | 'unspecified'
  | 'private'
  | 'link-local'
  | 'carrier-grade NAT'
  | 'multicast'
  | 'documentation'
  | 'reserved'
  | 'own interface'

type Range = readonly [cidr: string, kind: Exclude<AddressClass, 'public' | 'own interface'>]

// First match wins. IPv4: RFC 6890 registry; cloud metadata addresses from the vendors' documentation.
const IPV4: readonly Range[] = [
  ['169.254.169.254/32', 'metadata service'],
  ['100.100.100.200/32', 'metadata service'],
  ['168.63.129.16/32', 'metadata service'],
  ['192.0.0.192/32', 'metadata service'],
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade NAT'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'reserved'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
]
const IPV6: readonly Range[] = [
  ['fd00:ec2::/32', 'metadata service'],
  ['fd20:ce::254/128', 'metadata service'],
  ['fd00:c1::a9fe:a9fe/128', 'metadata service'],
  ['fd00:42::42/128', 'metadata service'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['64:ff9b:1::/48', 'private'],
  ['100::/64', 'reserved'],
  ['2001:10::/28', 'reserved'],
  ['2001:20::/28', 'reserved'],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'reserved'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
]
/** Formats that carry an IPv4 address, and where its four bytes stand; `inverted` = Teredo's client part. */
const EMBEDDED = [
  ['::ffff:0:0/96', 12, false],
  ['::ffff:0:0:0/96', 12, false],
  ['::/96', 12, false],
  ['64:ff9b::/96', 12, false],
  ['2002::/16', 2, false],
  ['2001::/32', 4, false],
  ['2001::/32', 12, true],
] as const

const ipv4Ranges = IPV4.map(([cidr, kind]) => ({ range: ipaddr.IPv4.parseCIDR(cidr), kind }))
const ipv6Ranges = IPV6.map(([cidr, kind]) => ({ range: ipaddr.IPv6.parseCIDR(cidr), kind }))
const embeddings = EMBEDDED.map(([cidr, at, inverted]) => ({ range: ipaddr.IPv6.parseCIDR(cidr), at, inverted }))

/** Addresses of this machine's interfaces; injected so that tests do not depend on the machine. */
export type OwnAddresses = () => ReadonlySet<string>

/** Reads the interfaces at most once a second: asking the kernel costs more than a whole request. */
export function systemOwnAddresses(nowMs: () => number = Date.now): OwnAddresses {
  let readAtMs = Number.NEGATIVE_INFINITY
  let addresses: ReadonlySet<string> = new Set()
  return () => {
    if (nowMs() - readAtMs > 1000) {
      readAtMs = nowMs()
      const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
      addresses = new Set(all.map(({ address }) => address.split('%')[0]!.toLowerCase()))
    }
    return addresses
  }
}

const NO_ADDRESSES: ReadonlySet<string> = new Set()

/**
 * Classifies an address in canonical form (a zone is ignored). Text that is no address is `reserved`:
 * what cannot be judged does not pass.
 */
export function classifyAddress(address: string, own: OwnAddresses = () => NO_ADDRESSES): AddressClass {
  const bare = address.split('%')[0]!
  const family = isIP(bare)
  if (family === 0) return 'reserved'
  const kind = family === 4 ? classifyIpv4(ipaddr.IPv4.parse(bare)) : classifyIpv6(ipaddr.IPv6.parse(bare))
  if (kind !== 'public') return kind
  return own().has(bare) ? 'own interface' : 'public'
}

function classifyIpv4(address: ipaddr.IPv4): AddressClass {
  return ipv4Ranges.find(({ range }) => address.match(range))?.kind ?? 'public'
}

function classifyIpv6(address: ipaddr.IPv6): AddressClass {
  const plain = ipv6Ranges.find(({ range }) => address.match(range))
  if (plain) return plain.kind
  const bytes = address.toByteArray()
  for (const { range, at, inverted } of embeddings) {
    if (!address.match(range)) continue
    const octets = bytes.slice(at, at + 4).map((byte) => (inverted ? byte ^ 255 : byte))
    const kind = classifyIpv4(new ipaddr.IPv4(octets))
    if (kind !== 'public') return kind
  }
  return 'public'
}

/** `localhost` and every name below it are this machine (RFC 6761), whatever a resolver says. */
export function isLocalhostName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}
