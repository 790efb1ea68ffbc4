import { expect } from 'chai'
import fc from 'fast-check'
import { parseByteRange } from './serve-file.ts'

describe('byte ranges', () => {
  it('read one range, from either end', () => {
    expect(parseByteRange('bytes=0-0', 10)).to.deep.equal({ start: 0, end: 0 })
    expect(parseByteRange('bytes=4-', 10)).to.deep.equal({ start: 4, end: 9 })
    expect(parseByteRange('bytes=4-100', 10)).to.deep.equal({ start: 4, end: 9 })
    expect(parseByteRange('Bytes=-3', 10)).to.deep.equal({ start: 7, end: 9 })
    expect(parseByteRange('bytes=-30', 10)).to.deep.equal({ start: 0, end: 9 })
  })

  it('are unsatisfiable outside the file', () => {
    for (const header of ['bytes=10-', 'bytes=99-100', 'bytes=-0']) {
      expect(parseByteRange(header, 10), header).to.equal('unsatisfiable')
    }
    expect(parseByteRange('bytes=-1', 0)).to.equal('unsatisfiable')
  })

  it('are ignored when malformed, backwards, of another unit or more than one', () => {
    for (const header of [
      '',
      'bytes',
      'bytes=-',
      'bytes=5-4',
      'lines=0-1',
      'bytes=0-1,3-4',
      'bytes=a-b',
      'bytes=1-2-3',
    ]) {
      expect(parseByteRange(header, 10), header).to.equal(undefined)
    }
  })

  it('never leave the file, whatever is requested', () => {
    const requested = fc.oneof(
      fc.string(),
      fc.tuple(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n })).map((pair) => pair.join('-')),
    )
    fc.assert(
      fc.property(requested, fc.nat(1000), (range, size) => {
        const found = parseByteRange(`bytes=${range}`, size)
        if (typeof found !== 'object') return true
        return 0 <= found.start && found.start <= found.end && found.end < size
      }),
    )
  })
})
