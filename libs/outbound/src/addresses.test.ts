import { expect } from 'chai'
import fc from 'fast-check'
import { isPublicAddress, parseAllowList, parseCidrs } from './addresses.ts'

const octet = fc.integer({ min: 0, max: 255 })
const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'))
const privateIpv4 = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127), octet, octet, octet),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
  fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
  fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), octet, octet),
  fc.tuple(fc.integer({ min: 224, max: 255 }), octet, octet, octet),
)
const group = fc.integer({ min: 0, max: 0xffff }).map((part) => part.toString(16))

function hex(octets: number[]): string {
  const [a = 0, b = 0, c = 0, d = 0] = octets
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

describe('public addresses', () => {
  it('are plain global ones', () => {
    const addresses = ['8.8.8.8', '1.1.1.1', '193.0.6.139', '2606:4700:4700::1111', '2a00:1450:4001:82b::200e']

    expect(addresses.filter((address) => !isPublicAddress(address))).to.deep.equal([])
  })

  it('are not private, loopback, link-local, shared, multicast or reserved IPv4 ones', () => {
    fc.assert(fc.property(privateIpv4, (octets) => !isPublicAddress(octets.join('.'))))
  })

  it('are not documentation, benchmarking or protocol ranges', () => {
    const addresses = [
      '192.0.2.1',
      '198.51.100.7',
      '203.0.113.9',
      '198.18.0.1',
      '192.0.0.170',
      '192.88.99.1',
      '2001:db8::1',
    ]

    expect(addresses.filter(isPublicAddress)).to.deep.equal([])
  })

  it('are not IPv6 outside global unicast', () => {
    const addresses = [
      '::',
      '::1',
      'fe80::1',
      'fc00::1',
      'fd12::1',
      'fec0::1',
      'ff02::1',
      '100::1',
      '::8.8.8.8',
      '4000::1',
    ]

    expect(addresses.filter(isPublicAddress)).to.deep.equal([])
  })

  it('are never IPv6 forms that carry an IPv4 address', () => {
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), group, (octets, tail) => {
        const inside = hex(octets)
        const forms = [
          `::ffff:${octets.join('.')}`,
          `::ffff:${inside}`,
          `::ffff:0:${inside}`,
          `::${inside}`,
          `64:ff9b::${inside}`,
          `64:ff9b:1::${inside}`,
          `2002:${inside}::${tail}`,
          `2001:0:${inside}::${tail}`,
        ]
        return !forms.some(isPublicAddress)
      }),
    )
  })

  it('keep their class in every spelling that a URL takes for the same address', () => {
    fc.assert(
      fc.property(privateIpv4, (octets) => {
        const [a = 0, b = 0, c = 0, d = 0] = octets
        const rest = b * 65_536 + c * 256 + d
        const octal = octets.map((part) => `0${part.toString(8)}`).join('.')
        const spellings = [String(a * 16_777_216 + rest), `${a}.${rest}`, `0x${a.toString(16)}.${rest}`, octal]
        return !spellings.map((text) => new URL(`https://${text}`).hostname).some(isPublicAddress)
      }),
    )
  })

  it('are not names, zones or shortened addresses', () => {
    const texts = [
      '',
      'localhost',
      '8.8.8',
      '134744072',
      '0x8.8.8.8',
      'fe80::1%eth0',
      '2606:4700::1%1',
      '[2606:4700::1]',
    ]

    expect(texts.filter(isPublicAddress)).to.deep.equal([])
  })
})

describe('the list of allowed private addresses', () => {
  it('is read from text and normalized', () => {
    expect(parseCidrs(' loopback, 10.1.0.0/16,192.168.0.7 ,FD00::/8,10.1.0.0/16 ')).to.deep.equal([
      '127.0.0.0/8',
      '::1/128',
      '10.1.0.0/16',
      '192.168.0.7/32',
      'fd00::/8',
    ])
    expect(parseCidrs(' ')).to.deep.equal([])
  })

  it('refuses what is no address, naming it', () => {
    const faulty = [
      'private',
      '10',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '::ffff:10.0.0.1',
      'fe80::1%eth0',
      '0127.0.0.1',
    ]

    for (const entry of faulty) expect(() => parseCidrs(`10.0.0.0/8,${entry}`), entry).to.throw(`"${entry}"`)
  })

  it('covers its networks, also in the mapped form, and nothing else', () => {
    const allowed = parseAllowList(['loopback', '10.1.0.0/16'])
    const covered = ['127.0.0.1', '127.9.9.9', '::1', '10.1.2.3', '::ffff:10.1.2.3', '::ffff:7f00:1']

    expect(covered.filter((address) => !allowed.covers(address))).to.deep.equal([])
    expect(['10.2.0.1', '::2', '8.8.8.8', '::127.0.0.1', 'localhost', ''].filter(allowed.covers)).to.deep.equal([])
  })

  it('agrees with the arithmetic of prefixes', () => {
    fc.assert(
      fc.property(ipv4, ipv4, fc.integer({ min: 0, max: 32 }), (network, address, bits) => {
        const number = (text: string) => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
        const size = 2 ** (32 - bits)
        const inside = Math.floor(number(network) / size) === Math.floor(number(address) / size)
        return parseAllowList([`${network}/${bits}`]).covers(address) === inside
      }),
    )
  })

  it('covers nothing when it is empty', () => {
    fc.assert(fc.property(fc.oneof(ipv4, fc.ipV6()), (address) => !parseAllowList([]).covers(address)))
  })
})
