import { expect } from 'chai'
import fc from 'fast-check'
import { parseResolve } from './addresses.ts'

describe('the resolve table', () => {
  it('is read from text', () => {
    expect(
      parseResolve('a.test=127.0.0.1:8081, B.Test=[::1]:8082 ,c.test=10.0.0.1,bücher.test=[fd00::1]'),
    ).to.deep.equal({
      'a.test': { address: '127.0.0.1', port: 8081 },
      'b.test': { address: '::1', port: 8082 },
      'c.test': { address: '10.0.0.1' },
      'xn--bcher-kva.test': { address: 'fd00::1' },
    })
    expect(parseResolve('')).to.deep.equal({})
  })

  it('refuses faulty entries, naming them', () => {
    const faulty = [
      'a.test',
      'a.test=',
      '=127.0.0.1:1',
      'a.test=b.test:1',
      'a.test=127.1:1',
      'a.test=127.0.0.1:0',
      'a.test=127.0.0.1:65536',
      'a.test=127.0.0.1:x',
      'a.test=::1:80',
      'a.test=[127.0.0.1]:80',
      'a.test:80=127.0.0.1:80',
      'user@a.test=127.0.0.1:80',
      'a.test/x=127.0.0.1:80',
      '127.0.0.1=127.0.0.2:80',
      '[::1]=127.0.0.2:80',
    ]

    for (const entry of faulty) expect(() => parseResolve(`ok.test=127.0.0.1:1,${entry}`), entry).to.throw(`"${entry}"`)
  })

  it('refuses a host that stands in it twice', () => {
    expect(() => parseResolve('a.test=127.0.0.1:1,A.test=127.0.0.1:2')).to.throw('"a.test" is in the table twice')
  })

  it('gives back what it was made from', () => {
    const place = fc.record({ address: fc.oneof(fc.ipV4(), fc.ipV6()), port: fc.integer({ min: 1, max: 65_535 }) })
    fc.assert(
      fc.property(fc.dictionary(fc.domain(), place, { maxKeys: 5, noNullPrototype: true }), (table) => {
        const entries = Object.entries(table).map(([host, { address, port }]) =>
          address.includes(':') ? `${host}=[${address}]:${port}` : `${host}=${address}:${port}`,
        )
        expect(parseResolve(entries.join(','))).to.deep.equal(table)
      }),
    )
  })
})
