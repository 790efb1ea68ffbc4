import { expect } from 'chai'
import { clientNetwork } from './client-network.ts'

describe('Client networks', () => {
  it('are the IPv4 address, in either form', () => {
    expect(clientNetwork('203.0.113.7')).to.equal('203.0.113.7')
    expect(clientNetwork('::ffff:203.0.113.7')).to.equal('203.0.113.7')
  })

  it('are the /64 of an IPv6 address', () => {
    expect(clientNetwork('2001:db8:1:2:aaaa::1')).to.equal(clientNetwork('2001:db8:1:2:bbbb::2'))
    expect(clientNetwork('2001:db8:1:2:aaaa::1')).to.equal('2001:db8:1:2::/64')
    expect(clientNetwork('2001:db8:1:3::1')).not.to.equal(clientNetwork('2001:db8:1:2::1'))
  })
})
