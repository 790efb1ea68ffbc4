import { expect } from 'chai'
import fc from 'fast-check'
import { createClientAddress, limitKey } from './client-address.ts'

describe('client addresses', () => {
  it('are the other end of the connection when no proxy is named, whatever it claims', () => {
    const find = createClientAddress('')

    expect(find('203.0.113.7', '198.51.100.1')).to.equal('203.0.113.7')
    expect(find('::ffff:203.0.113.7', undefined)).to.equal('203.0.113.7')
    expect(find('2001:DB8:0:0::1', undefined)).to.equal('2001:db8::1')
  })

  it('are what a named proxy says', () => {
    const find = createClientAddress('10.0.0.0/8, 192.0.2.9')

    expect(find('10.1.2.3', '203.0.113.7')).to.equal('203.0.113.7')
    expect(find('::ffff:10.1.2.3', '203.0.113.7')).to.equal('203.0.113.7')
    expect(find('192.0.2.9', '203.0.113.7, 10.9.9.9')).to.equal('203.0.113.7')
    expect(find('192.0.2.10', '203.0.113.7')).to.equal('192.0.2.10')
  })

  it('stop at the first address that is no named proxy: what stands left of it, the client may have written', () => {
    const find = createClientAddress('loopback')

    expect(find('127.0.0.1', '1.1.1.1, 203.0.113.7')).to.equal('203.0.113.7')
    expect(find('::1', '127.0.0.1, 203.0.113.7, 127.0.0.9')).to.equal('203.0.113.7')
    expect(find('127.0.0.1', '1.1.1.1, nonsense')).to.equal('127.0.0.1')
    expect(find('127.0.0.1', '[2001:db8::5]:443')).to.equal('2001:db8::5')
    expect(find('127.0.0.1', '203.0.113.7:5123')).to.equal('203.0.113.7')
  })

  it('cannot be chosen by a client behind a named proxy', () => {
    const find = createClientAddress('127.0.0.1')
    fc.assert(
      fc.property(fc.string(), (claimed) => {
        expect(find('127.0.0.1', `${claimed}, 203.0.113.7`)).to.equal('203.0.113.7')
      }),
    )
  })

  it('refuse a configuration that names no address', () => {
    expect(() => createClientAddress('loopback,everywhere')).to.throw(/TRUST_PROXY.*everywhere/)
    expect(() => createClientAddress('10.0.0.0/99')).to.throw(/TRUST_PROXY/)
  })
})

describe('what limits count by', () => {
  it('is an IPv4 address, in whichever form', () => {
    expect(limitKey('203.0.113.7')).to.equal('203.0.113.7')
    expect(limitKey('::ffff:203.0.113.7')).to.equal('203.0.113.7')
  })

  it('is the /64 of an IPv6 address', () => {
    expect(limitKey('2001:db8:1:2:aaaa::1')).to.equal(limitKey('2001:db8:1:2:bbbb::2'))
    expect(limitKey('2001:db8:1:3::1')).not.to.equal(limitKey('2001:db8:1:2::1'))
  })
})
