import { expect } from 'chai'
import { createAddressQuota, quotaKey } from './address-quota.ts'

describe('quota of unauthenticated sockets', () => {
  it('counts each key on its own and gives places back', () => {
    const quota = createAddressQuota(2)

    const taken = [quota.take('a'), quota.take('a'), quota.take('a'), quota.take('b')]
    quota.release('a')

    expect(taken).to.deep.equal([true, true, false, true])
    expect(quota.take('a')).to.equal(true)
    expect(quota.size).to.equal(3)
  })

  it('takes an IPv6 network of 64 bits, and an IPv4 address in either notation, as one client', () => {
    expect(quotaKey('2001:db8:0:1:aaaa::1')).to.equal(quotaKey('2001:db8:0:1:bbbb::2'))
    expect(quotaKey('2001:db8:0:1::1')).not.to.equal(quotaKey('2001:db8:0:2::1'))
    expect(quotaKey('::ffff:192.0.2.1')).to.equal(quotaKey('192.0.2.1'))
    expect(quotaKey('192.0.2.1')).not.to.equal(quotaKey('192.0.2.2'))
    expect(quotaKey('no address')).to.equal('unknown')
  })
})
