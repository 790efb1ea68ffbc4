import { expect } from 'chai'
import fc from 'fast-check'
import { createClientAddress } from './client-address.ts'

describe('Client addresses', () => {
  it('are the remote address of the connection when no proxy is trusted, whatever X-Forwarded-For says', () => {
    const find = createClientAddress('')

    expect(find('203.0.113.7', '198.51.100.1')).to.equal('203.0.113.7')
    expect(find('::ffff:203.0.113.7', undefined)).to.equal('203.0.113.7')
    expect(find('2001:DB8:0:0::1', undefined)).to.equal('2001:db8::1')
  })

  it('are what a trusted proxy adds to X-Forwarded-For', () => {
    const find = createClientAddress('10.0.0.0/8, 192.0.2.9')

    expect(find('10.1.2.3', '203.0.113.7')).to.equal('203.0.113.7')
    expect(find('::ffff:10.1.2.3', '203.0.113.7')).to.equal('203.0.113.7')
    expect(find('192.0.2.9', '203.0.113.7, 10.9.9.9')).to.equal('203.0.113.7')
    expect(find('192.0.2.10', '203.0.113.7')).to.equal('192.0.2.10')
  })

  it('are the nearest address that is not a trusted proxy: the client may have written those before it', () => {
    const find = createClientAddress('loopback')

    expect(find('127.0.0.1', '1.1.1.1, 203.0.113.7')).to.equal('203.0.113.7')
    expect(find('::1', '127.0.0.1, 203.0.113.7, 127.0.0.9')).to.equal('203.0.113.7')
    expect(find('127.0.0.1', '1.1.1.1, nonsense')).to.equal('127.0.0.1')
    expect(find('127.0.0.1', '[2001:db8::5]:443')).to.equal('2001:db8::5')
    expect(find('127.0.0.1', '203.0.113.7:5123')).to.equal('203.0.113.7')
  })

  it('cannot be chosen by a client behind a trusted proxy', () => {
    const find = createClientAddress('127.0.0.1')
    fc.assert(
      fc.property(fc.string(), (forged) => {
        expect(find('127.0.0.1', `${forged}, 203.0.113.7`)).to.equal('203.0.113.7')
      }),
    )
  })

  it('are configured by addresses only', () => {
    expect(() => createClientAddress('loopback,everywhere')).to.throw(/TRUST_PROXY.*everywhere/)
    // The library reads 10/8 as 0.0.0.10/8, and a range of mapped addresses holds none: addresses are judged as IPv4.
    for (const range of ['10.0.0.0/99', '10/8', '172.16/12', '0x7f.1', '::ffff:10.0.0.0/104', '10.0.0.0/']) {
      expect(() => createClientAddress(range), range).to.throw(/TRUST_PROXY/)
    }
  })
})
