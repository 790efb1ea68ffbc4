import { expect } from 'chai'
import { networkOf } from './network.ts'

describe('the network of an address', () => {
  it('is the /24 of an IPv4 address, mapped ones too', () => {
    expect(networkOf('192.0.2.1')).to.equal(networkOf('192.0.2.254'))
    expect(networkOf('192.0.2.1')).to.equal(networkOf('::ffff:192.0.2.9'))
    expect(networkOf('192.0.2.1')).to.not.equal(networkOf('192.0.3.1'))
  })

  it('is the /48 of an IPv6 address, however it is written', () => {
    const network = networkOf('2001:db8:7::1')
    for (const same of ['2001:db8:7:ffff:1:2:3:4', '2001:0db8:0007:1::', '2001:DB8:7:0:0:0:0:1']) {
      expect(networkOf(same), same).to.equal(network)
    }
    for (const other of ['2001:db8:8::1', '2001:db8::7', '2001:db8::', '::1', 'unknown']) {
      expect(networkOf(other), other).to.not.equal(network)
    }
    expect(networkOf('2001::7:0:0:0:0:1')).to.equal(networkOf('2001:0:7::1'))
  })
})
