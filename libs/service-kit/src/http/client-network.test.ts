import { expect } from 'chai'
import { clientNetwork } from './client-network.ts'

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
