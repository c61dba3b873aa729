import { describe, expect, it } from 'vitest'
import { classifyAddress, isLocalhostName } from './address-guard.ts'

describe('classifyAddress', () => {
  it.each([
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['10.0.0.1', 'private'],
    ['100.64.0.1', 'carrier-grade NAT'],
    ['100.127.255.255', 'carrier-grade NAT'],
    ['100.63.255.255', 'public'],
    ['100.128.0.0', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.1.1', 'link-local'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['172.32.0.0', 'public'],
    ['192.0.0.1', 'reserved'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', 'reserved'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'reserved'],
    ['198.19.255.255', 'reserved'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.251', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'reserved'],
    ['93.184.216.34', 'public'],
    ['1.1.1.1', 'public'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fc00::1', 'private'],
    ['fdff::1', 'private'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'private'],
    ['ff02::fb', 'multicast'],
    ['100::1', 'reserved'],
    ['2001:db8::1', 'documentation'],
    ['2606:4700:4700::1111', 'public'],
    ['2a00:1450::1', 'public'],
  ])('%s is %s', (address, kind) => {
    expect(classifyAddress(address)).toBe(kind)
  })

  it.each([
    ['::ffff:10.0.0.1', 'IPv4-mapped', 'private'],
    ['::ffff:93.184.216.34', 'IPv4-mapped', 'public'],
    ['::127.0.0.1', 'IPv4-compatible', 'loopback'],
    ['::ffff:0:10.0.0.1', 'IPv4-translated', 'private'],
    ['64:ff9b::7f00:1', 'NAT64', 'loopback'],
    ['64:ff9b::a9fe:a9fe', 'NAT64', 'metadata service'],
    ['64:ff9b::5db8:d822', 'NAT64', 'public'],
    ['64:ff9b:1::1', 'local NAT64', 'private'],
    ['2002:a00:1::', '6to4', 'private'],
    ['2002:5db8:d822::', '6to4', 'public'],
    ['2001:0:5db8:d822:0:0:f5ff:fffe', 'Teredo client', 'private'],
    ['2001:0:a00:1::', 'Teredo server', 'private'],
    ['2001:0:5db8:d822:0:0:a247:27dd', 'Teredo', 'public'],
  ])('%s carries an IPv4 address (%s) and is judged by it: %s', (address, _form, kind) => {
    expect(classifyAddress(address)).toBe(kind)
  })

  it.each([
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
  ])('%s is a metadata service of a cloud', (address) => {
    expect(classifyAddress(address)).toBe('metadata service')
  })

  it('an address of this machine is its own, although public', () => {
    expect(classifyAddress('93.184.216.34', () => new Set(['93.184.216.34']))).toBe('own interface')
  })

  it('what is no address does not count as public', () => {
    expect(classifyAddress('example.com')).toBe('reserved')
  })
})

it.each([
  ['localhost', true],
  ['foo.localhost', true],
  ['localhost.example', false],
  ['notlocalhost', false],
])('%s is a name of this machine: %s', (host, expected) => {
  expect(isLocalhostName(host)).toBe(expected)
})
