import { expect } from 'chai'
import fc from 'fast-check'
import { clientNetwork, peerNetwork, siteNetwork } from './client-network.ts'

describe('Client networks', () => {
  it('are the IPv4 address, in either form', () => {
    expect(clientNetwork('203.0.113.7')).to.equal('203.0.113.7')
    expect(clientNetwork('::ffff:203.0.113.7')).to.equal('203.0.113.7')
    expect(clientNetwork('203.0.113.8')).not.to.equal(clientNetwork('203.0.113.7'))
  })

  it('are the /64 of an IPv6 address, with or without a zone', () => {
    expect(clientNetwork('2001:db8:1:2:aaaa::1')).to.equal(clientNetwork('2001:db8:1:2:bbbb::2'))
    expect(clientNetwork('2001:db8:1:2:aaaa::1')).to.equal('2001:db8:1:2::/64')
    expect(clientNetwork('2001:db8:1:3::1')).not.to.equal(clientNetwork('2001:db8:1:2::1'))
    expect(clientNetwork('fe80::1%eth0')).to.equal(clientNetwork('fe80::2'))
  })

  it('are what is no address as it is', () => {
    expect(clientNetwork('unknown')).to.equal('unknown')
    expect(clientNetwork('')).to.equal('')
  })
})

describe('The network of a peer', () => {
  it('is the /24 of an IPv4 address and the /64 of an IPv6 address', () => {
    expect(['192.0.2.7', '::ffff:192.0.2.9', '2001:DB8:0:7::9'].map(peerNetwork)).to.deep.equal([
      '192.0.2.0/24',
      '192.0.2.0/24',
      '2001:db8:0:7::/64',
    ])
    expect(peerNetwork('unknown')).to.equal('unknown')
  })
})

describe('The network of a site', () => {
  it('is the /24 of an IPv4 address, mapped ones too', () => {
    expect(siteNetwork('192.0.2.1')).to.equal(siteNetwork('192.0.2.254'))
    expect(siteNetwork('192.0.2.1')).to.equal(siteNetwork('::ffff:192.0.2.9'))
    expect(siteNetwork('192.0.2.1')).to.not.equal(siteNetwork('192.0.3.1'))
    expect(siteNetwork('192.0.2.1')).to.equal('192.0.2.0/24')
  })

  it('is the /48 of an IPv6 address, however it is written', () => {
    const network = siteNetwork('2001:db8:7::1')
    expect(network).to.equal('2001:db8:7::/48')
    for (const same of ['2001:db8:7:ffff:1:2:3:4', '2001:0db8:0007:1::', '2001:DB8:7:0:0:0:0:1']) {
      expect(siteNetwork(same), same).to.equal(network)
    }
    for (const other of ['2001:db8:8::1', '2001:db8::7', '2001:db8::', '::1', 'unknown']) {
      expect(siteNetwork(other), other).to.not.equal(network)
    }
    expect(siteNetwork('2001::7:0:0:0:0:1')).to.equal(siteNetwork('2001:0:7::1'))
  })

  it('is undefined for what is no address', () => {
    expect(['unknown', '', '192.0.2.256'].map(siteNetwork)).to.deep.equal([undefined, undefined, undefined])
  })
})

describe('Networks of any addresses', () => {
  const kinds = [
    { name: 'client', networkOf: clientNetwork, octets: 4, groups: 4 },
    { name: 'site', networkOf: siteNetwork, octets: 3, groups: 3 },
  ]
  const octets = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 })
  const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })
  const isMapped = (parts: readonly number[]): boolean =>
    parts.slice(0, 5).every((part) => part === 0) && parts[5] === 0xffff
  const ipv6 = groups.filter((parts) => !isMapped(parts))
  const hex = (parts: readonly number[]): string => parts.map((part) => part.toString(16)).join(':')
  const samePrefix = (one: readonly number[], other: readonly number[], length: number): boolean =>
    one.slice(0, length).every((part, index) => part === other[index])
  /** Two addresses of which the second begins as the first. */
  const related = (addresses: fc.Arbitrary<number[]>, size: number) =>
    fc
      .tuple(addresses, addresses, fc.nat(size))
      .map(([one, other, length]) => [one, [...one.slice(0, length), ...other.slice(length)]] as const)

  for (const { name, networkOf, octets: octetsKept, groups: groupsKept } of kinds) {
    it(`are one text for one network of a ${name}, and two for two`, () => {
      fc.assert(
        fc.property(related(octets, 4), ([one, other]) => {
          const isOne = networkOf(one.join('.')) === networkOf(other.join('.'))
          expect(isOne).to.equal(samePrefix(one, other, octetsKept))
        }),
      )
      fc.assert(
        fc.property(related(ipv6, 8), ([one, other]) => {
          fc.pre(!isMapped(other))
          const isOne = networkOf(hex(one)) === networkOf(hex(other))
          expect(isOne).to.equal(samePrefix(one, other, groupsKept))
        }),
      )
    })

    it(`are that of the IPv4 address for an IPv4-mapped one, of a ${name}`, () => {
      fc.assert(
        fc.property(octets, (parts) => {
          const [a = 0, b = 0, c = 0, d = 0] = parts
          const network = networkOf(parts.join('.'))
          expect(networkOf(`::ffff:${parts.join('.')}`)).to.equal(network)
          expect(networkOf(`::ffff:${hex([a * 256 + b, c * 256 + d])}`)).to.equal(network)
        }),
      )
    })
  }
})
